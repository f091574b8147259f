"""Certificates: proofs about a model, as files that can be verified."""

from ocbnn.certificates.certification import certify as certify
from ocbnn.certificates.verification import verify as verify

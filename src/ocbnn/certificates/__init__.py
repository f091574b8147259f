"""Certificates: what is proved of a model, written down, and checked again."""

from ocbnn.certificates.certification import certify as certify
from ocbnn.certificates.verification import verify as verify

"""Numbers and settings on disk: written atomically, and safe to open."""

from ocbnn.storage.bundle import (
    Bundle as Bundle,
    is_bundle as is_bundle,
    read_bundle as read_bundle,
    write_bundle as write_bundle,
)
from ocbnn.storage.files import replace_file as replace_file
from ocbnn.storage.records import (
    record_from_dict as record_from_dict,
    record_to_dict as record_to_dict,
)
from ocbnn.storage.values import (
    NotPlainError as NotPlainError,
    from_plain as from_plain,
    to_plain as to_plain,
)

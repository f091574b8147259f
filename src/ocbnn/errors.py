"""Every exception and warning the library raises on purpose.

A message names the thing, states the rule, shows the value and says what to write.
"""


class OcbnnError(Exception):
    """Root of the library's errors, so callers can catch ours and only ours."""


class RuleError(OcbnnError, ValueError):
    """A rule that cannot mean what was written."""


class RuleSyntaxError(RuleError):
    """Text that is not a rule; the message points at the place.

    Attributes
    ----------
    at
        The place in the text, if it is known.
    reason
        What is wrong there, without a picture of the text.
    """

    def __init__(
        self, message: str, at: int | None = None, reason: str | None = None
    ) -> None:
        super().__init__(message)
        self.at, self.reason = at, reason or message


class RegionError(OcbnnError, ValueError):
    """A region of input space in which no points can be drawn."""


class DataError(OcbnnError, ValueError):
    """Data that cannot be learned from."""


class SettingError(OcbnnError, ValueError):
    """A setting outside its range."""


class InferenceError(OcbnnError, RuntimeError):
    """Inference that cannot go on, with the part of the density at fault."""


class CertificateError(OcbnnError, ValueError):
    """A certificate that cannot be made, or that does not stand."""


class StorageError(OcbnnError, ValueError):
    """A file that cannot be written, or that is not what it should be."""


class CheckpointError(OcbnnError, RuntimeError):
    """A folder in which a run cannot be saved or continued."""


class LostProcessError(OcbnnError, RuntimeError):
    """Another process that this one computed with is gone."""


class MissingPackageError(OcbnnError, ImportError):
    """An optional package that is asked for and not installed."""


class RuleWarning(UserWarning):
    """A rule that is legal and probably not what was meant."""


class InferenceWarning(UserWarning):
    """Draws that should not be trusted yet."""


class CheckpointWarning(UserWarning):
    """A run that is not saved as it should be, or that can be continued."""


class StorageWarning(UserWarning):
    """A file that was read, but from which not everything could be had."""

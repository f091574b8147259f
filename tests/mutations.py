"""Inputs that are almost right: valid ones with something changed.

Every stream of inputs follows from a stated seed, so a fault can be met again.
"""

import json
import time

from ocbnn.errors import OcbnnError

QUICK = [(0, 2_000)]  # a seed, and how many inputs
FULL = [(seed, 12_500) for seed in range(1, 9)]
_MOST_SECONDS = 1.0
_NUMBERS = (0, 1, -1, 7, 255, 256, 2**31, 2**32 - 1, 2**53, 2**63, 2**64, 10**30)
_VALUES = (None, True, "", "x", [], {}, 0, -1, 1e308, 2**63, ["a"], {"$tuple": 1})


def answered(function, one):
    """Call a function: it answers or raises the library's own error, and soon."""
    started = time.process_time()
    try:
        return function()
    except OcbnnError:
        return None
    except BaseException as error:
        error.add_note(f"the input was {one!r:.2000}")
        raise
    finally:
        seconds = time.process_time() - started
        assert seconds < _MOST_SECONDS, f"{seconds:.1f} s for {one!r:.2000}"


def changed_bytes(rng, data, other=b""):
    """Bytes with a few bits, pieces or numbers changed."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 2, 4, 8, 50)))
        match rng.randrange(7):
            case 0 if at < len(data):
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                del data[at:]
            case 2:
                del data[at:end]
            case 3:
                data[at:at] = data[at:end]
            case 4:
                number = rng.choice(_NUMBERS) % 2**64
                size = rng.choice((2, 4, 8))
                data[at : at + size] = (number % 2 ** (8 * size)).to_bytes(
                    size, "little"
                )
            case 5:
                data[at:end] = rng.randbytes(end - at)
            case 6:
                start = rng.randrange(len(other) + 1)
                data[at:end] = other[start : start + rng.choice((1, 8, 200))]
    return bytes(data)


def changed_value(rng, value):
    """A JSON value with one place in it changed."""
    value = json.loads(json.dumps(value))
    holder, key = None, None
    here = value
    while isinstance(here, dict | list) and here and rng.random() < 0.85:
        holder = here
        key = (
            rng.choice(list(here))
            if isinstance(here, dict)
            else rng.randrange(len(here))
        )
        here = here[key]
    if holder is None:
        return rng.choice(_VALUES)
    match rng.randrange(4):
        case 0:
            holder[key] = rng.choice(_VALUES)
        case 1:
            holder[key] = rng.choice(_NUMBERS)
        case 2:
            del holder[key]
        case 3 if isinstance(holder, dict):
            holder[rng.choice(("x", "$plan", "$rule", str(key) + "0"))] = holder.pop(
                key
            )
        case _:
            holder[key] = [holder[key]] * rng.choice((1, 2, 50))
    return value


def changed_text(rng, text, other, pieces):
    """Text with pieces taken out, doubled, swapped or put in."""
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.choice((1, 1, 3, 10)))
        match rng.randrange(6):
            case 0:
                text = text[:at] + text[end:]
            case 1:
                text = text[:at]
            case 2:
                text = text[:at] + rng.choice(pieces) + text[at:]
            case 3:
                text = text[:at] + rng.choice(pieces) + text[end:]
            case 4:
                text = text[:end] + text[at:end] * rng.choice((1, 5, 300)) + text[end:]
            case 5:
                start = rng.randrange(len(other) + 1)
                text = text[:at] + other[start : start + 30] + text[end:]
    return text

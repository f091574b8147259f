"""Connections that keep the server waiting are ended, and there are only so many.

uvicorn waits without end for a request's head and body, and for who asks to take the
answer. A hundred sockets that say nothing would be enough to keep people out.
"""

import asyncio
import dataclasses
import socket
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


@dataclasses.dataclass(frozen=True)
class ConnectionLimits:
    """How long a connection is waited for.

    Attributes
    ----------
    head
        Seconds in which a request has to say what it wants.
    silence
        Seconds in which something of a body comes.
    taking
        Seconds in which something of an answer goes. What the systems of both
        sides hold back goes in large steps, which slow lines take minutes for.
    rate
        Bytes a second of a body, at least, once `silence` has passed.
    most
        Connections at a time.
    look
        Seconds between looks at a connection.
    """

    head: float = 10.0
    silence: float = 20.0
    taking: float = 120.0
    rate: float = 4096.0
    most: int = 256
    look: float = 1.0


KNOWN = "is_known"  # in the state of a request whose sender has shown the token
_SEND_BUFFER = 64 * 2**10  # bytes; a large one hides how slowly an answer is taken


class WatchedProtocol(H11Protocol):
    """HTTP with people who have something to say."""

    def __init__(self, *args: Any, limits: ConnectionLimits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._looking: asyncio.TimerHandle | None = None
        self._state: Any = h11.IDLE
        # When the present head or body began, its bytes, and when the last came.
        self.since = self._heard_at = self._left_at = self.loop.time()
        self._heard = self._unsent = 0
        self._was_known = False

    @property
    def is_known(self) -> bool:
        """Whether it has shown the token: whoever it is may stay for longer."""
        state = (self.scope or {}).get("state", {})
        return self._was_known or bool(state.get(KNOWN))

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore
        """Somebody has come; somebody else may have to go."""
        super().connection_made(transport)
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER
        )
        here = [c for c in self.connections if not c.transport.is_closing()]
        if len(here) > self._limits.most:
            self._least(here).transport.abort()
        self._looking = self.loop.call_later(self._limits.look, self._look)

    def _least(self, here: list[Any]) -> Any:
        """Who is missed least: strangers, then who asks nothing, the longest first."""
        others = [c for c in here if c is not self]
        strangers = [c for c in others if not c.is_known]
        idle = [c for c in others if c.conn.their_state is h11.IDLE]
        return min(strangers or idle or [self], key=lambda c: c.since)

    def connection_lost(self, exc: Exception | None) -> None:
        """They are gone."""
        if self._looking is not None:
            self._looking.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """They have said something."""
        self._heard += len(data)
        self._heard_at = self.loop.time()
        super().data_received(data)

    def resume_writing(self) -> None:
        """They have taken most of what there was, and get more."""
        self._left_at = self.loop.time()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """They have their answer, and may ask again."""
        self.since, self._heard = self.loop.time(), 0
        self._was_known = self.is_known
        super().on_response_complete()

    def _look(self) -> None:
        now = self.loop.time()
        if self.conn.their_state is not self._state:
            self._state, self.since, self._heard = self.conn.their_state, now, 0
        if self._is_late(now):
            self.transport.abort()
        else:
            self._looking = self.loop.call_later(self._limits.look, self._look)

    def _is_late(self, now: float) -> bool:
        limits = self._limits
        unsent = self.transport.get_write_buffer_size()
        if not unsent or unsent < self._unsent:
            self._left_at = now
        self._unsent = unsent
        if now - self._left_at > limits.taking:
            return True
        if self._state is h11.IDLE:
            if unsent:
                # An answer can be taken for long after the server has made it.
                self.since = now
            return now - self.since > limits.head
        if self._state is not h11.SEND_BODY:
            return False
        if self.flow.read_paused:
            # It is the server that does not keep up.
            self.since, self._heard, self._heard_at = now, 0, now
        seconds = now - self.since
        if now - self._heard_at > limits.silence:
            return True
        return seconds > limits.silence and self._heard < seconds * limits.rate

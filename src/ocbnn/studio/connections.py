"""Limits on connections: slow ones are closed, and their number is bounded.

uvicorn waits forever for a request's head and body, and for the client to read the
answer. A hundred silent sockets would be enough to lock everybody out.
"""

import asyncio
import dataclasses
import socket
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


@dataclasses.dataclass(frozen=True)
class ConnectionLimits:
    """How slow and how many connections may be.

    Attributes
    ----------
    head
        Seconds within which a request's head must arrive.
    silence
        Longest pause within a body, in seconds.
    taking
        Longest time without progress while an answer is sent, in seconds. The
        buffers of both systems drain in large steps, which take minutes on slow lines.
    rate
        Least bytes per second of a body, once `silence` has passed.
    most
        Connections at a time.
    look
        Seconds between checks of a connection.
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
    """HTTP/1.1 that closes connections which exceed the limits."""

    def __init__(self, *args: Any, limits: ConnectionLimits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._check_timer: asyncio.TimerHandle | None = None
        self._state: Any = h11.IDLE
        # When the current head or body began, its bytes, and when the last arrived.
        self.since = self._received_at = self._drained_at = self.loop.time()
        self._received = self._unsent = 0
        self._was_known = False

    @property
    def is_known(self) -> bool:
        """Whether the client has shown the token; such connections are kept longer."""
        state = (self.scope or {}).get("state", {})
        return self._was_known or bool(state.get(KNOWN))

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore
        """Accept a connection, and drop another if there are too many."""
        super().connection_made(transport)
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER
        )
        open_connections = [c for c in self.connections if not c.transport.is_closing()]
        if len(open_connections) > self._limits.most:
            self._least_important(open_connections).transport.abort()
        self._check_timer = self.loop.call_later(self._limits.look, self._check)

    def _least_important(self, open_connections: list[Any]) -> Any:
        """The oldest without the token; else the oldest idle one; else this one."""
        others = [c for c in open_connections if c is not self]
        strangers = [c for c in others if not c.is_known]
        idle = [c for c in others if c.conn.their_state is h11.IDLE]
        return min(strangers or idle or [self], key=lambda c: c.since)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop checking a closed connection."""
        if self._check_timer is not None:
            self._check_timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Note how much has arrived, and when."""
        self._received += len(data)
        self._received_at = self.loop.time()
        super().data_received(data)

    def resume_writing(self) -> None:
        """Note that the client has read most of what was buffered."""
        self._drained_at = self.loop.time()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self.since, self._received = self.loop.time(), 0
        self._was_known = self.is_known
        super().on_response_complete()

    def _check(self) -> None:
        now = self.loop.time()
        if self.conn.their_state is not self._state:
            self._state, self.since, self._received = self.conn.their_state, now, 0
        if self._is_late(now):
            self.transport.abort()
        else:
            self._check_timer = self.loop.call_later(self._limits.look, self._check)

    def _is_late(self, now: float) -> bool:
        limits = self._limits
        unsent = self.transport.get_write_buffer_size()
        if not unsent or unsent < self._unsent:
            self._drained_at = now
        self._unsent = unsent
        if now - self._drained_at > limits.taking:
            return True
        if self._state is h11.IDLE:
            if unsent:
                # A client may read an answer long after the server has made it.
                self.since = now
            return now - self.since > limits.head
        if self._state is not h11.SEND_BODY:
            return False
        if self.flow.read_paused:
            # The server is the slow side, not the client.
            self.since, self._received, self._received_at = now, 0, now
        seconds = now - self.since
        if now - self._received_at > limits.silence:
            return True
        return seconds > limits.silence and self._received < seconds * limits.rate

"""`ocbnn studio`: a local web page on which to draw rules and fit models."""

import functools
import secrets
import signal
import socket
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from ocbnn.cli.console import note
from ocbnn.cli.exits import stop
from ocbnn.errors import SettingError
from ocbnn.storage import replace_file

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_EVERYWHERE = ("0.0.0.0", "::")
_OPENED = (".csv", ".parquet", ".toml")


def studio(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA.csv | STUDY.toml",
            help="A table or a study file to start with.",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Folder for sessions."),
    ] = Path("studio"),
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="The port; 0 for any free one."),
    ] = 0,
    host: Annotated[
        str,
        typer.Option(
            help="The address to listen on; other machines can reach any address "
            "except loopback."
        ),
    ] = "127.0.0.1",
    most: Annotated[
        int, typer.Option(min=1, metavar="MIB", help="The largest table accepted.")
    ] = 100,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page.")
    ] = True,
) -> None:
    """Open the studio: draw rules on your data, fit, and download the study.

    Serves a page on this machine only, until Ctrl-C. Sessions are saved as you
    work, and are listed again next time.
    """
    if data is not None and not data.is_file():
        raise SettingError(f"{data}: there is no such file.")
    if data is not None and data.suffix.lower() not in _OPENED:
        raise SettingError(
            f"{data}: the studio opens a table (.csv or .parquet) or a study file "
            "(.toml). Name one of them."
        )
    server, studio_, listening, address = _prepared(folder, host, port, most)
    if data is not None:
        address = _with_session(address, studio_, data)
    # From now on, Ctrl-C sets a flag instead of raising an error that may get lost.
    signal.signal(signal.SIGINT, server.handle_exit)
    typer.echo(address)
    note("the studio is open at this address. Ctrl-C ends it; sessions are kept.")
    with _shown(address, folder) if browser else nullcontext():
        server.run(sockets=[listening])
    stop(f"the studio is closed. Sessions are in {folder}.")


def _prepared(
    folder: Path, host: str, port: int, most: int
) -> tuple[Any, Any, socket.socket, str]:
    try:
        import uvicorn  # noqa: PLC0415

        from ocbnn.studio.connections import ConnectionLimits, WatchedProtocol  # noqa: PLC0415
        from ocbnn.studio.private_files import keep_private  # noqa: PLC0415
        from ocbnn.studio.server import Studio  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise SettingError(
            f"the studio needs {error.name}, which is not installed. Write: "
            "pip install 'ocbnn[studio]'"
        ) from None
    if folder.exists() and not folder.is_dir():
        raise SettingError(f"--folder {folder}: this is a file. Name a folder.")
    keep_private()
    listening = _bound(host, port)
    number = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    token = secrets.token_urlsafe(24)
    studio_ = Studio(folder.expanduser().absolute(), most_bytes=most * 2**20)
    hosts = () if host in _LOOPBACK else (shown, socket.gethostname().lower())
    if host in _EVERYWHERE:
        shown = _own_address()
        hosts = (*hosts, shown)
    limits = ConnectionLimits()
    app = studio_.app(hosts=hosts, port=number, token=token)

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: Any) -> None:
            studio_.end_streams()
            super().handle_exit(sig, frame)

    config = uvicorn.Config(
        app,
        # Errors in requests are answered, and need not be logged here.
        log_level="error",
        timeout_graceful_shutdown=3,
        http=functools.partial(WatchedProtocol, limits=limits),  # pyright: ignore
        ws="none",
        proxy_headers=False,
        server_header=False,
        limit_concurrency=limits.most + 1,
        timeout_keep_alive=5,
        h11_max_incomplete_event_size=32 * 2**10,
    )
    address = f"http://{shown}:{number}/?token={token}"
    return Server(config), studio_, listening, address


@contextmanager
def _shown(address: str, folder: Path) -> Iterator[None]:
    """Open the page through a file that only its owner can read.

    Every user can read a browser's command line, and so a token in it.
    """
    page = folder.expanduser().absolute() / "open.html"
    redirect = (
        f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">\n'
    )
    replace_file(page, redirect.encode())
    try:
        webbrowser.open(page.as_uri())
        yield
    finally:
        page.unlink(missing_ok=True)


def _own_address() -> str:
    """The address of this machine in its network; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return socket.gethostname().lower()


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server_socket = socket.socket(family, socket.SOCK_STREAM)
    server_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server_socket.bind((host, port))
        server_socket.listen(128)  # A browser that connects early waits.
    except OSError as error:
        server_socket.close()
        raise SettingError(
            f"--host {host} --port {port}: {error.strerror or error}. Leave out --port "
            "for a free port, and --host for loopback."
        ) from None
    return server_socket


def _with_session(address: str, studio_: Any, data: Path) -> str:
    if data.suffix == ".toml":
        session = studio_.store.from_study(data)
    else:
        session = studio_.store.from_table(data.name, data)
    head, question, token = address.partition("?")
    return f"{head}s/{session.id}{question}{token}"

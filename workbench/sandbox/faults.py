"""What goes wrong in a served sandbox: logged with its traceback, masked, and answered."""

import logging
import traceback
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from workbench.domain.masking import mask
from workbench.visible import visible

_LOG = logging.getLogger(__name__)
_HEADERS = [("Content-Type", "text/plain"), ("Content-Length", "0")]


def log_fault(what: str, error: BaseException) -> None:
    """Say what failed and how, with nothing in it that must not be shown."""
    _LOG.error("%s", visible(mask("".join([what, ": ", *traceback.format_exception(error)])), lines=True))


def guarded(app: WSGIApplication) -> WSGIApplication:
    """The last guard: what not even the answer of a failure survives, a server would write out as it is."""

    def response(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            return app(environ, start_response)
        except Exception as error:  # noqa: BLE001  whatever it is
            log_fault("a request failed", error)
            start_response("500 Internal Server Error", _HEADERS)
            return [b""]

    return response

"""Every exception that this package raises on purpose.

WorkbenchError
├── ApiError                 an error response of the service; raised by the sandbox, rebuilt by the client
│   ├── InvalidRequest            400
│   ├── AuthenticationFailed      401
│   ├── PaymentDeclined           402
│   ├── PermissionDenied          403
│   ├── NotFound                  404
│   ├── MethodNotAllowed          405
│   ├── RequestTimeout            408
│   ├── StateConflict             409
│   ├── PayloadTooLarge           413
│   ├── TargetTooLong             414
│   ├── UnsupportedMediaType      415
│   ├── HostRefused               421
│   ├── IdempotencyKeyReused      422
│   ├── RateLimited               429
│   ├── HeadTooLarge              431
│   └── ServiceFailed             500
│       ├── ServiceUnavailable    503
│       └── StorageFull           507
├── LiveKeyRefused           a live key where only test keys belong, stopped before anything is sent
├── ServiceUnreachable       no response from the service
├── UnexpectedResponse       a response that the interface does not describe
├── WaitExpired              a payment that has not settled in the time allowed
├── SignatureRefused         a webhook whose signature does not hold, with the mistake named
├── LedgerRefused            an entry that does not balance, or a chain that does not verify
├── IllegalTransition        an event that a state does not take
├── GapRefused               a choice that is not in the register of gaps
├── StoreRefused             a store file that cannot be used
├── PortTaken                another server has the port
├── ServeRefused             a sandbox that cannot be served as asked
├── StatementRefused         a statement or a ledger that cannot be read, or a layout that cannot be used
├── SimulationRefused        a month that cannot be simulated as asked
├── ReconcileRefused         a ledger and a statement that cannot be compared
├── PhoneKeyRefused          a file that is not a key for customers' numbers, or that others can read
├── LabRefused               a folder or a notebook that JupyterLab cannot be opened on
├── ReportRefused            results that cannot be written as asked
├── ExamRefused              an endpoint that cannot be examined as asked
├── CommandRefused           a command of yours that cannot be run as asked
├── TrafficRefused           recorded traffic that cannot be read or written
├── CheckLiveRefused         a report or a trace from which no checklist can be made
├── ExtraMissing             a part of the package that the base installation leaves out
├── RunRefused               notebooks or parameters that cannot be run
└── ExerciseNotDone          an exercise that is not done, in a run with the solutions; elsewhere it is printed
"""

from typing import Any, ClassVar, NamedTuple

from workbench.visible import visible


class FieldProblem(NamedTuple):
    """One field of a request, and its fault."""

    pointer: str
    """JSON Pointer (RFC 6901) to the field, such as `/payment_method/type`."""
    detail: str


def field_problem(param: str, detail: str) -> FieldProblem:
    """The problem `detail`, in words, of the field `param`, a dotted name such as `payment_method.type`."""
    return FieldProblem("/" + param.replace(".", "/"), detail)


class WorkbenchError(Exception):
    """The base of all errors. `facts` has values for programs; `hint` tells a person what to do.

    `message` and `hint` may quote input unchanged; in `str` of the error, control characters of the input are symbols.
    """

    def __init__(self, message: str, *, hint: str = "", **facts: object) -> None:
        super().__init__()
        self.hint = hint
        self.facts: dict[str, Any] = facts
        self.say(message)

    def say(self, message: str) -> None:
        """Replaces the message."""
        self.message = message
        self.args = (visible(f"{message} {self.hint}".strip(), lines=True),)


class ApiError(WorkbenchError):
    """An error response, with the members of the problem format (RFC 9457) and the documented `error` and `message`.

    The traceback of an error that the client raised ends with `request_id`, by which the dashboard finds the request.
    """

    status: ClassVar[int] = 500
    title: ClassVar[str] = "The service failed"
    default_code: ClassVar[str] = "service_failed"

    def __init_subclass__(cls, status: int = status, title: str = title, code: str = default_code) -> None:
        super().__init_subclass__()
        cls.status, cls.title, cls.default_code = status, title, code

    def __init__(  # noqa: PLR0913  one argument per member of the response
        self,
        message: str,
        *,
        code: str = "",
        param: str | None = None,
        problems: tuple[FieldProblem, ...] = (),
        decline_code: str | None = None,
        request_id: str | None = None,
        hint: str = "",
        **facts: object,
    ) -> None:
        super().__init__(message, hint=hint, **facts)
        self.code = code or self.default_code
        self.param = param
        self.problems = problems
        self.decline_code = decline_code
        self.request_id = request_id


class InvalidRequest(ApiError, status=400, title="The request is not valid", code="request_invalid"):
    """Malformed or invalid: the same request will never succeed."""


def invalid(message: str, param: str | None = None, *, hint: str = "") -> InvalidRequest:
    """The error for an invalid value; `param` is the field or argument, None if no single one is at fault."""
    return InvalidRequest(message, code="parameter_invalid", param=param, hint=hint)


class AuthenticationFailed(ApiError, status=401, title="No valid key", code="key_invalid"):
    """No valid key or token."""


class PaymentDeclined(ApiError, status=402, title="The payment was declined", code="payment_declined"):
    """The customer or the operator declined; `facts["charge"]` is the id of the charge."""


class PermissionDenied(ApiError, status=403, title="Not allowed", code="key_not_allowed"):
    """A valid key that does not permit this, or a page of another origin."""


class NotFound(ApiError, status=404, title="Not found", code="not_found"):
    """No such object, or no such path."""


class MethodNotAllowed(ApiError, status=405, title="Method not allowed", code="method_not_allowed"):
    """The path exists, but not with this method."""


class RequestTimeout(ApiError, status=408, title="The request took too long", code="body_late"):
    """A body that did not arrive in time; nothing was changed."""


class StateConflict(ApiError, status=409, title="Not in this state", code="state_conflict"):
    """The object's current state does not allow this."""


class PayloadTooLarge(ApiError, status=413, title="The body is too large", code="body_too_large"):
    """A body over the size limit."""


class TargetTooLong(ApiError, status=414, title="The target is too long", code="target_too_long"):
    """A request whose first line is over the size limit."""


class HeadTooLarge(ApiError, status=431, title="The headers are too large", code="head_too_large"):
    """A request with too many headers, or with headers over the size limit."""


class UnsupportedMediaType(ApiError, status=415, title="The body is not JSON", code="media_type_unsupported"):
    """A body that is not JSON."""


class HostRefused(ApiError, status=421, title="Not the host of this sandbox", code="host_refused"):
    """A host name that the sandbox does not accept (RFC 9110, 421 Misdirected Request)."""


class IdempotencyKeyReused(
    ApiError, status=422, title="The key was used for another request", code="idempotency_key_reused"
):
    """An idempotency key that was used before with another body."""


class RateLimited(ApiError, status=429, title="Too many requests", code="rate_limited"):
    """Too many requests; `facts["retry_after_s"]`, if the service gives it, is how many seconds to wait.

    Nothing was changed: send the same request again later.
    """


class ServiceFailed(ApiError):
    """The service's own fault; the outcome may be unknown."""


class ServiceUnavailable(ServiceFailed, status=503, title="The store cannot be written now", code="storage_failed"):
    """The store's file cannot be written, or is locked by another program; nothing was changed."""


class StorageFull(ServiceFailed, status=507, title="The disk is full", code="storage_full"):
    """No space is left for the store's file; nothing was changed."""


class LiveKeyRefused(WorkbenchError):
    """A live key was given where only test keys work. Nothing was sent."""


class ServiceUnreachable(WorkbenchError):
    """No response came to the request; the service may or may not have carried it out."""


class UnexpectedResponse(WorkbenchError):
    """The response is not what the interface describes."""


class WaitExpired(WorkbenchError):
    """The payment had not settled when the wait ended, or was never confirmed."""


class SignatureRefused(WorkbenchError):
    """The webhook cannot be trusted; `reason` is a code for the mistake."""

    def __init__(self, reason: str, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint, reason=reason)
        self.reason = reason


class LedgerRefused(WorkbenchError):
    """An entry or an account that the ledger does not accept, or a ledger that does not verify."""


class IllegalTransition(WorkbenchError):
    """An event that the state does not allow; facts: `state`, `event`, `allowed`."""


class GapRefused(WorkbenchError):
    """An unknown name or value of the register; facts: `name`, `allowed`."""


class StoreRefused(WorkbenchError):
    """The store's file cannot be created or read, or is of another kind, version, seed or start."""


class PortTaken(WorkbenchError):
    """A program already listens on this port."""


class ServeRefused(WorkbenchError):
    """A sandbox that cannot be served as requested, or cannot deliver to an application or sign for an endpoint."""


class StatementRefused(WorkbenchError):
    """A file that cannot be read as a statement or a ledger without guessing; facts: file, line, what was found."""


class SimulationRefused(WorkbenchError):
    """A size, a break, a folder or a sandbox that cannot be used for a simulated month, or a full disk."""


class ReconcileRefused(WorkbenchError):
    """Inputs that cannot be compared, because of columns, types, currencies or a tolerance; no result was made."""


class PhoneKeyRefused(WorkbenchError):
    """A key for customers' numbers that is missing, malformed, open to other users, or in a carry-forward folder."""


class ReportRefused(WorkbenchError):
    """Results of a reconciliation that cannot be written as requested."""


class LabRefused(WorkbenchError):
    """A folder that cannot hold the notebooks, or in which there is no notebook to open."""


class ExamRefused(WorkbenchError):
    """An endpoint, a secret, a shop, a command or a file for the report that an exam cannot use."""


class CommandRefused(WorkbenchError):
    """A command that cannot be started, calls no sandbox, or fails before any row of the register is changed."""


class TrafficRefused(WorkbenchError):
    """A recording that cannot be read or written, is not a HAR file, is cut off, or has no call of the interface."""


class CheckLiveRefused(WorkbenchError):
    """A report or a trace from which no checklist can be made."""


class ExtraMissing(WorkbenchError):
    """A part of the package that the base installation leaves out; the hint says how to install it."""


class RunRefused(WorkbenchError):
    """Notebooks, parameters or an output folder that cannot be used for a run, or a run that was interrupted."""


class ExerciseNotDone(WorkbenchError):
    """An exercise is not done: raised only in a run with the solutions."""

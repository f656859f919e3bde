import re

from workbench import errors
from workbench.errors import ApiError, FieldProblem, InvalidRequest, PaymentDeclined, SignatureRefused, WorkbenchError


def all_below(root: type[Exception]) -> list[type[Exception]]:
    return [each for child in root.__subclasses__() for each in (child, *all_below(child))]


API_ERRORS = all_below(ApiError)
OURS = [each for each in all_below(WorkbenchError) if each.__module__ == errors.__name__]
TREE = dict(re.findall(r"[├└]── (\w+) +(.+)", errors.__doc__))


def test_every_exception_stands_in_the_tree_and_nothing_else():
    assert set(TREE) == {kind.__name__ for kind in OURS}


def test_each_answer_has_its_own_status_and_code_and_the_tree_tells_the_status():
    for member in ("status", "default_code", "title"):
        assert len({getattr(kind, member) for kind in API_ERRORS}) == len(API_ERRORS)
    assert {kind.__name__: TREE[kind.__name__] for kind in API_ERRORS} == {
        kind.__name__: str(kind.status) for kind in API_ERRORS
    }
    assert all(kind("x").code == kind.default_code for kind in API_ERRORS)
    assert {kind.status for kind in API_ERRORS} == {400, 401, 402, 403, 404, 405, 408, 409, 413, 415, 421, 422, 500}


def test_an_answer_carries_its_members():
    error = PaymentDeclined(
        "No.", code="payment_declined", param="phone", problems=(FieldProblem("/phone", "is empty"),),
        decline_code="insufficient_funds", request_id="req_1", hint="Try again.", charge="ch_1",
    )  # fmt: skip
    assert str(error) == "No. Try again."
    assert (error.message, error.hint, error.facts) == ("No.", "Try again.", {"charge": "ch_1"})
    assert (error.code, error.param, error.decline_code) == ("payment_declined", "phone", "insufficient_funds")
    assert (error.problems, error.request_id) == ((("/phone", "is empty"),), "req_1")


def test_an_answer_has_no_more_than_it_was_given():
    error = InvalidRequest("No.")
    assert str(error) == "No."
    assert (error.code, error.param, error.problems, error.decline_code) == ("request_invalid", None, (), None)


def test_a_refused_signature_has_its_reason():
    error = SignatureRefused("signature_mismatch", "No.", hint="Look again.")
    assert (error.reason, str(error)) == ("signature_mismatch", "No. Look again.")
    assert error.facts == {"reason": "signature_mismatch"}

"""A confirm passes few files in few moves."""

from tests.benchmarks.moves import passed_by_confirm


def test_a_confirm_passes_few_files_in_few_moves():
    passed = passed_by_confirm()
    assert len(passed.files) <= 28, sorted(passed.files)
    assert passed.moves <= 150, passed.by_files.most_common(20)

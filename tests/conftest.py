"""Which tests are numerical: all but those of inputs, files and texts. They must hold on every CPU."""

import pytest

_NOT_NUMERICAL = {
    "test_api",
    "test_cli",
    "test_cli_check",
    "test_data",
    "test_cli_tables",
    "test_inputs",
    "test_labels",
    "test_letters",
    "test_papers",
    "test_path_portrait",
    "test_tables",
}


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.stem not in _NOT_NUMERICAL:
            item.add_marker(pytest.mark.numerical)

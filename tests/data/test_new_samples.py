"""New samples: the features of a model are selected by name from a file with other columns."""

import numpy as np
import pandas as pd
import pytest

from tacit import InputError
from tacit.data.linear_model import read_new_samples

FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": [3.5, -4.0], "c": [0.1, 7.0]})
WRITERS = {
    "new.csv": lambda frame, path: frame.to_csv(path, index=False),
    "new.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "new.parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "new.xlsx": lambda frame, path: frame.to_excel(path, index=False),
}


@pytest.mark.parametrize("name", WRITERS)
def test_columns_are_found_by_name_in_any_order(tmp_path, name):
    """With text columns, which no model uses, and with or without the target."""
    shuffled = FRAME[["c", "a", "b"]].assign(id=["one", "two"], y=[5.0, 6.0])
    WRITERS[name](shuffled, tmp_path / name)
    found = read_new_samples(tmp_path / name, ["a", "b", "c"], "y")
    np.testing.assert_array_equal(found.X, FRAME.to_numpy())
    assert found.unused == ("id",) and found.target.tolist() == [5.0, 6.0]
    WRITERS[name](FRAME, tmp_path / name)
    found = read_new_samples(tmp_path / name, ["b"], "y")
    np.testing.assert_array_equal(found.X, FRAME[["b"]].to_numpy())
    assert found.unused == ("a", "c") and found.target is None


def test_arrays_are_taken_in_order(tmp_path):
    np.savez(tmp_path / "new.npz", X=FRAME.to_numpy())
    found = read_new_samples(tmp_path / "new.npz", ["a", "b", "c"], "y")
    np.testing.assert_array_equal(found.X, FRAME.to_numpy())
    with pytest.raises(InputError, match=r"3 columns, but the model has 2 features"):
        read_new_samples(tmp_path / "new.npz", ["a", "b"], "y")
    np.savez(tmp_path / "other.npz", Z=FRAME.to_numpy())
    with pytest.raises(InputError, match="must contain an array X"):
        read_new_samples(tmp_path / "other.npz", ["a", "b"], "y")


def test_what_is_missing_is_named(tmp_path):
    FRAME.to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(
        InputError, match=r"lacks 2 of the 3 features of the model: 'cc', 'zebra'; did you mean 'c'"
    ):
        read_new_samples(tmp_path / "new.csv", ["a", "cc", "zebra"], "y")
    FRAME.assign(b=[1.0, np.nan]).to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(InputError, match=r"column 'b', row 2 is missing"):
        read_new_samples(tmp_path / "new.csv", ["a", "b"], "y")
    assert read_new_samples(tmp_path / "new.csv", ["a", "c"], "y").X.shape == (2, 2)  # column b is not needed
    FRAME[:0].to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(InputError, match="has no rows"):
        read_new_samples(tmp_path / "new.csv", ["a", "b"], "y")

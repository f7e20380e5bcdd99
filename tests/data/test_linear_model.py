"""Linear models in files: reading returns the written model, and other files raise errors."""

import json

import numpy as np
import pytest

from tacit import InputError
from tacit.data.linear_model import LinearModel, read_model
from tacit.show.output_files import json_file, write_json

RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 3))
MODELS = {
    "numbers": LinearModel(("a", "b", "c"), "y", RNG.standard_normal((1, 3)), np.array([0.1])),
    "two words": LinearModel(tuple("abc"), "y", RNG.standard_normal((1, 3)), np.array([0.1]), ("no", "yes")),
    "three": LinearModel(("a", "b", "c"), "y", RNG.standard_normal((3, 3)), np.zeros(3), (0, 1, 5)),
}


@pytest.mark.parametrize("name", MODELS)
def test_what_is_written_is_read_to_the_last_bit(tmp_path, name):
    model, path = MODELS[name], tmp_path / "model.json"
    write_json(model.to_dict(), str(path), "fit --save")
    found = read_model(path)
    np.testing.assert_array_equal(found.coefficients, model.coefficients)
    assert (found.features, found.target, found.classes) == (model.features, model.target, model.classes)
    assert found.predict(X) == model.predict(X)


def test_predictions_are_numbers_or_classes():
    numbers, words, three = (MODELS[name] for name in ("numbers", "two words", "three"))
    scores = [sum(w * x for w, x in zip(numbers.coefficients[0], row, strict=True)) + 0.1 for row in X]
    np.testing.assert_allclose(numbers.predict(X), scores, rtol=1e-14)
    outputs = X @ words.coefficients[0] + 0.1
    assert words.predict(X) == ["yes" if value > 0 else "no" for value in outputs]
    assert three.predict(X) == [(0, 1, 5)[int(row.argmax())] for row in X @ three.coefficients.T]


def damaged(**changes):
    """The JSON text of a model with changed entries; entries that are None are left out."""
    content = {**json.loads(json_file(MODELS["numbers"].to_dict(), "fit --save")), **changes}
    return json.dumps({name: value for name, value in content.items() if value is not None})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "it is not JSON"),
        ("[1, 2]", "is JSON, but not a model file"),
        ('{"format": "something"}', "is JSON, but not a model file"),
        (damaged(version=2), "has version 2 of the format, but this Tacit reads version 1 only"),
        (damaged(features=None), "'features' is missing"),
        (damaged(features=["a", "b"]), "do not match"),
        (damaged(features=["a", "b", "b"]), "two of its features have the same name"),
        (damaged(features="abc"), "its features have no names"),
        (damaged(coefficients=[["x", 1, 2]]), "is damaged"),
        (damaged(coefficients=[[None, 1, 2]]), "is damaged"),
        (damaged(intercepts=[1, 2]), "do not match"),
        (damaged(classes=["one"]), "its classes are not two or more names or numbers"),
        (damaged(classes=[["a"], ["b"]]), "its classes are not two or more names or numbers"),
    ],
)
def test_other_files_are_rejected_with_a_reason(tmp_path, text, message):
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_model(path)


def test_a_missing_file_is_reported_with_the_command_that_makes_one(tmp_path):
    with pytest.raises(InputError, match=r"no file at .*tacit fit DATA"):
        read_model(tmp_path / "nothing.json")
    with pytest.raises(InputError, match="cannot read"):
        read_model(tmp_path)

"""Files that Tacit replaces keep their permissions."""

import os
import stat

import pytest

from tacit.show.output_files import Output, write_file, write_json

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX"), pytest.mark.any_cpu]


@pytest.fixture(autouse=True)
def umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("bits", [0o600, 0o640, 0o644, 0o666, 0o664])
def test_a_replaced_file_keeps_its_permissions(tmp_path, bits):
    path = tmp_path / "result.json"
    write_json({"n": 1}, str(path), "limit")
    path.chmod(bits)
    write_json({"n": 2}, str(path), "limit")
    assert mode(path) == bits and '"n": 2' in path.read_text()
    assert [each.name for each in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_follows_the_umask(tmp_path, mask):
    os.umask(mask)
    path = write_file(b"content", Output(tmp_path / "new.csv", "csv", "predict"))
    assert mode(path) == 0o666 & ~mask


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    write_json({"n": 1}, str(target), "limit")
    target.chmod(0o600)
    link.symlink_to(target)
    write_json({"n": 2}, str(link), "limit")
    assert link.is_symlink() and mode(target) == 0o600 and '"n": 2' in target.read_text()


def test_a_draft_is_never_open_to_others(tmp_path, monkeypatch):
    """The content is written after the permissions are set."""
    path = tmp_path / "result.json"
    write_json({"n": 1}, str(path), "limit")
    path.chmod(0o600)
    seen, replace = [], type(path).replace

    def look(draft, place):
        seen.append(mode(draft))
        return replace(draft, place)

    created = os.open

    def opened(file, flags, mode=0o777, **options):
        if ".tacit-" in str(file):
            seen.append(mode)
        return created(file, flags, mode, **options)

    monkeypatch.setattr(type(path), "replace", look)
    monkeypatch.setattr("tacit.show.output_files.os.open", opened)
    write_json({"n": 2}, str(path), "limit")
    assert seen == [0o600, 0o600]


def test_without_the_owner_the_group_gets_what_everybody_has(tmp_path, monkeypatch):
    """A different group must not get the permissions of the original group."""
    path = tmp_path / "result.json"
    write_json({"n": 1}, str(path), "limit")
    path.chmod(0o660)

    def refused(*_):
        raise PermissionError

    monkeypatch.setattr("tacit.show.output_files.os.geteuid", lambda: -1)
    monkeypatch.setattr("tacit.show.output_files.os.chown", refused)
    write_json({"n": 2}, str(path), "limit")
    assert mode(path) == 0o600

"""The folder of a fit: whose it is, and when it may be taken over."""

import pytest

from ocbnn.errors import SettingError
from ocbnn.projects.folder import Run, RunFolder


def run(seed):
    return Run("study.toml", ".", "text", "data", seed, quick=False)


def test_a_file_is_no_folder_of_a_fit(tmp_path):
    (tmp_path / "study.toml").write_text("")
    with pytest.raises(SettingError, match="not the folder of a fit"):
        RunFolder(tmp_path / "study.toml").run()


@pytest.mark.parametrize("left", ["model.ocbnn", "checkpoint/chain-0"])
def test_only_a_fit_that_began_is_protected(tmp_path, left):
    folder = RunFolder(tmp_path / "out")
    folder.claim(run(0), "", force=False)
    # The first study had a mistake that only the fit could find.
    folder.claim(run(1), "", force=False)
    assert folder.run() == run(1)
    folder.checkpoint.mkdir()
    (folder.path / left).write_text("an hour's work")
    with pytest.raises(SettingError, match="which differs in the seed"):
        folder.claim(run(2), "", force=False)
    assert (folder.path / left).exists()

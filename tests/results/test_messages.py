"""Messages on a terminal and in a file."""

import io

from opperf.results.messages import tell, wrap_message

HINT = "interrupted; 3 cases measured, in some.jsonl. Resume with: opperf ab --resume --cpus 1,2"


def test_lines_end_between_words():
    lines = wrap_message("opperf: " + "a word or two " * 9, 40).splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= 40
    assert all(line.startswith("  ") for line in lines[1:])
    assert " ".join(" ".join(lines).split()) == ("opperf: " + "a word or two " * 9).strip()


def test_a_command_stays_whole_on_a_line_of_its_own():
    lines = wrap_message(HINT, 40).splitlines()
    assert lines[-1] == "  opperf ab --resume --cpus 1,2" and lines[-2].endswith("Resume with:")
    assert wrap_message(HINT, 200) == HINT


def test_a_file_has_a_message_on_one_line():
    file = io.StringIO()
    tell(HINT, file)
    assert file.getvalue() == HINT + "\n"

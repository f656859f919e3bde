"""Tables and pictures: the same words for those who see them and for those who do not."""

import base64

from matplotlib.figure import Figure

from workbench.render import Column, picture, table


def drawn() -> Figure:
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([1, 2], [1, 2], marker="x")
    return figure


def test_a_picture_is_the_same_bytes_twice_names_no_library_that_drew_it_and_has_its_words_beside_it():
    made, again = (picture(drawn(), "A line.") for _ in range(2))
    assert made.png == again.png
    assert b"Software" not in made.png
    data, metadata = made._repr_mimebundle_()
    assert data["text/plain"] == repr(made) == "A line."
    assert metadata == {"image/png": {"alt": "A line."}}
    assert base64.b64decode(data["image/png"]) == made.png
    assert made.png.startswith(b"\x89PNG")


def test_a_table_shows_itself_as_text_and_as_html_also_without_rows():
    made = table("Shop", ["plant", Column("price", numeric=True)], [("Fern", "20.00"), ("<Cactus>", "5.00")])
    shown = made._repr_mimebundle_()
    assert shown["text/plain"] == str(made)
    assert "<caption>Shop</caption>" in shown["text/html"]
    assert "&lt;Cactus&gt;" in shown["text/html"]
    empty = table("Shop", ["plant", "price"], [])
    assert str(empty).splitlines()[-1] == "(none)"
    assert '<tbody><tr><td colspan="2">(none)</td></tr></tbody>' in empty.html()

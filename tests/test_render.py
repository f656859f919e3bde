"""Tables and pictures: the same words for those who see them and for those who do not."""

import base64

from matplotlib.figure import Figure

from workbench.render import Column, picture, table


def drawn() -> Figure:
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([1, 2], [1, 2], marker="x")
    return figure


class TestPicture:
    def test_two_are_the_same_bytes_and_name_no_library_that_drew_them(self):
        made = picture(drawn(), "A line.").png
        assert picture(drawn(), "A line.").png == made
        assert b"Software" not in made

    def test_its_words_stand_beside_it_and_for_it(self):
        data, metadata = picture(drawn(), "A line.")._repr_mimebundle_()
        assert data["text/plain"] == repr(picture(drawn(), "A line.")) == "A line."
        assert metadata == {"image/png": {"alt": "A line."}}
        assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")


class TestTable:
    def test_one_without_rows_says_so(self):
        made = table("Shop", ["plant", "price"], [])
        assert str(made).splitlines()[-1] == "(none)"
        assert '<tbody><tr><td colspan="2">(none)</td></tr></tbody>' in made.html()

    def test_it_shows_itself_as_text_and_as_html(self):
        made = table("Shop", ["plant", Column("price", numeric=True)], [("Fern", "20.00"), ("<Cactus>", "5.00")])
        shown = made._repr_mimebundle_()
        assert shown["text/plain"] == str(made)
        assert "<caption>Shop</caption>" in shown["text/html"]
        assert "&lt;Cactus&gt;" in shown["text/html"]

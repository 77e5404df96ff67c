"""The HTML report: one file that needs nothing beside it."""

from pytest_hush.report.html.page import Material, render_page, write_page

__all__ = ["Material", "render_page", "write_page"]

"""From scenarios to labelled answers: grids of cells to datasets, and the searches on top of them."""

//! A petgraph dag over any id: order, cycles, ready set.

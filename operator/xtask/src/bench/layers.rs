//! The configuration that is measured: layers of resources, each of which needs one of the layer before.
//!
//! Only the ten first of a layer are referred to, so that some objects have many dependents and most have none, as in
//! real modules; the depth grows with the size.

use std::fmt::Write as _;

const LAYER: usize = 100;
const REFERRED: usize = 10;

/// A root module of `count` resources of `terraform_data`, which lies in the program itself: no plugin is measured.
pub(super) fn module(count: usize) -> String {
    let mut text = String::new();
    for index in 0..count {
        let (layer, place) = (index / LAYER, index % LAYER);
        let input = match layer.checked_sub(1) {
            Some(before) => format!("${{terraform_data.r{before}_{}.id}} {place}", place % REFERRED),
            None => place.to_string(),
        };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "resource \"terraform_data\" \"r{layer}_{place}\" {{\n  input = \"{input}\"\n}}\n\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_needs_one_of_the_layer_before() {
        let text = module(250);
        assert_eq!(text.matches("resource \"terraform_data\"").count(), 250);
        assert!(
            text.starts_with("resource \"terraform_data\" \"r0_0\" {\n  input = \"0\"\n}\n"),
            "{text}"
        );
        assert!(
            text.ends_with(
                "resource \"terraform_data\" \"r2_49\" {\n  input = \"${terraform_data.r1_9.id} 49\"\n}\n\n"
            ),
            "{text}"
        );
        assert!(!text.contains("_10.id"), "only the first ten are referred to");
        assert_eq!(text.matches("terraform_data.r0_3.id").count(), 10);
    }
}

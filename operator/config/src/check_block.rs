//! `check` blocks.
//!
//! Rules: Terraform `configs/checks.go`.

use ashlar_addr::Mode;
use ashlar_diag::Diag;
use ashlar_eval::{CheckRule, Shape};
use ashlar_syntax::{Block, is_identifier};

use crate::{BAD_NAME, load::Loader, model::Check};

pub(crate) const SHAPE: Shape = Shape {
    required: &[],
    optional: &[],
    blocks: &[("data", &["type", "name"]), ("assert", &[])],
};

impl Loader {
    pub(crate) fn check_block(&mut self, block: Block) {
        let header = block.header();
        let Some(label) = block.labels.first() else { return };
        if self.overriding {
            let detail = "Checks are not overridden. Change the block itself.";
            return self
                .diags
                .push(Diag::error("Can't override check blocks", detail).at(header));
        }
        let content = SHAPE.content(block.body, Some(block.open), &mut self.diags);
        if !is_identifier(&label.name) {
            self.diags
                .push(Diag::error("Invalid check block name", BAD_NAME).at(label.span));
        }
        let mut check = Check {
            asserts: Vec::new(),
            data: None,
            header,
        };
        let mut data = None;
        for inner in content.blocks {
            let place = inner.header();
            if &*inner.kind.name == "assert" {
                let (rule, faults) = CheckRule::read(&inner);
                let sound = !faults.has_errors();
                self.diags.extend(faults);
                check.asserts.extend(rule.filter(|_| sound));
            } else if data.is_some() {
                let detail = "A check has one data source at most.";
                self.diags
                    .push(Diag::error("Multiple data resource blocks", detail).at(place));
            } else {
                data = self.read_resource(inner, Mode::Data, true);
            }
        }
        if check.asserts.is_empty() {
            let detail = "A check without an assert block checks nothing.";
            self.diags
                .push(Diag::error("Zero assert blocks", detail).at(header));
        }
        let twice = self.module.checks.contains_key(&label.name);
        if let Some((resource, mut config)) = data {
            check.data = Some(resource.clone());
            config.check = Some(label.name.clone());
            if !self.declare_resource(resource, config) {
                return;
            }
        }
        if twice {
            let detail = format!("The check {:?} is declared twice in this module.", &*label.name);
            let summary = format!("Duplicate check \"{}\" configuration", label.name);
            return self.diags.push(Diag::error(summary, detail).at(header));
        }
        self.module.checks.insert(label.name.clone(), check);
    }
}

//! The calls that list the objects of a type. Never keeps more than was asked for, nor more than a message may have.

use std::ops::ControlFlow;

use ashlar_port::{Answer, ListRequest, Listed, ProviderDiag};
use ashlar_value::{Value, schema::Block};
use prost::Message;

use super::unknown;
use crate::{
    fault::{Failed, in_the_way},
    known::ResourceTypes,
    plugin::Plugin,
    proto::tfplugin::{self, Diagnostic, diagnostic::Severity, list_resource::Event},
    wire,
};

/// So many bytes one list may have, as many as any one answer.
const MOST_BYTES: usize = 256 << 20;
/// So many remarks of one list are kept until they are cut down to what is told; of a sane one all are.
const MOST_REMARKS: usize = 10_000;

const CALL: &str = "ListResource";

impl Plugin {
    pub(crate) async fn try_validate_list(
        &self,
        kind: &str,
        config: &Value,
    ) -> Result<Vec<Diagnostic>, Failed> {
        const CALL: &str = "ValidateListResourceConfig";
        let request = tfplugin::validate_list_resource_config::Request {
            type_name: kind.to_owned(),
            config: self.list_config(CALL, kind, config).await?,
        };
        let response = self.answer(CALL, self.client.validate_list(request).await)?;
        Ok(response.diagnostics)
    }

    pub(crate) async fn try_list(&self, asked: &ListRequest<'_>) -> Result<Answer<Vec<Listed>>, Failed> {
        let config = self.list_config(CALL, asked.kind, asked.config).await?;
        let (known, types) = self.resource(asked.kind).await?;
        if types.identity.is_none() {
            return Err(self.nonsense(format!(
                "offers to list objects of type {:?}, which have no identity",
                asked.kind
            )));
        }
        // Terraform does not read what it does not want.
        if asked.limit == 0 {
            return Ok(Answer::ok(Vec::new()));
        }
        let request = tfplugin::list_resource::Request {
            type_name: asked.kind.to_owned(),
            config,
            include_resource_object: asked.with_objects,
            limit: i64::try_from(asked.limit).unwrap_or(i64::MAX),
        };
        let mut list = List {
            plugin: self,
            asked,
            block: known.resource_block(asked.kind),
            types,
            found: Vec::new(),
            bytes: 0,
            remarks: Vec::new(),
            fault: None,
        };
        let answer = self.client.list(request, |event| list.take(event)).await;
        let mut diags = wire::diags(list.remarks);
        diags.extend(list.fault.into_iter().flatten());
        if let Err(failed) = self.answer(CALL, answer) {
            diags.extend(failed);
        }
        Ok(Answer {
            value: list.found,
            diags,
        })
    }

    async fn list_config(
        &self,
        call: &str,
        kind: &str,
        config: &Value,
    ) -> Result<Option<tfplugin::DynamicValue>, Failed> {
        let known = self.known().await.map_err(in_the_way)?;
        let schema = known.schema.lists.get(kind);
        let schema = schema.ok_or_else(|| unknown("list resource type", kind))?;
        wire::encode(config, &schema.block.ty()).map_err(|error| self.unwritable(call, &error))
    }
}

/// A list that is coming.
struct List<'a> {
    plugin: &'a Plugin,
    asked: &'a ListRequest<'a>,
    block: Option<&'a Block>,
    types: ResourceTypes,
    found: Vec<Listed>,
    bytes: usize,
    remarks: Vec<Diagnostic>,
    /// Why the rest is not wanted.
    fault: Option<Vec<ProviderDiag>>,
}

impl List<'_> {
    fn take(&mut self, event: Event) -> ControlFlow<()> {
        self.bytes = self.bytes.saturating_add(event.encoded_len());
        if self.bytes > MOST_BYTES {
            let plugin = self.plugin;
            return self.give_up(crate::fault::plugin_error(format!(
                "The plugin of {} listed objects of type {:?} that have more than {} MiB together, which is the most that is taken. \
                 Lower the limit, or list without the objects themselves.",
                plugin.name,
                self.asked.kind,
                MOST_BYTES >> 20
            )));
        }
        let has_error = event
            .diagnostic
            .iter()
            .any(|remark| remark.severity() != Severity::Warning);
        let room = MOST_REMARKS.saturating_sub(self.remarks.len());
        // An error is not to be lost among warnings.
        let remarks = event.diagnostic.into_iter();
        self.remarks
            .extend(remarks.take(if has_error { usize::MAX } else { room }));
        if has_error {
            return ControlFlow::Break(());
        }
        let identity = self.types.identity.as_ref();
        let identity = match wire::decode_identity(event.identity, identity) {
            Ok(Some(identity)) => identity,
            // Words that belong to no object, as in Terraform.
            Ok(None) if !self.remarks.is_empty() => return ControlFlow::Continue(()),
            Ok(None) => {
                let told = format!(
                    "answered {CALL} with an object of type {:?} and no identity",
                    self.asked.kind
                );
                return self.give_up(self.plugin.nonsense(told));
            }
            Err(error) => return self.give_up(self.plugin.unreadable(CALL, &error)),
        };
        let sent = event.resource_object.filter(|_| self.asked.with_objects);
        let object = match sent.map(|sent| wire::decode(Some(sent), &self.types.object)) {
            None => None,
            Some(Ok(object)) => self.plugin.learned(self.block, Some(object)),
            Some(Err(error)) => return self.give_up(self.plugin.unreadable(CALL, &error)),
        };
        let display_name = (self.plugin.redact)(&wire::cut(event.display_name, wire::LONGEST_SUMMARY));
        self.found.push(Listed {
            identity,
            display_name,
            object,
        });
        if u64::try_from(self.found.len()).is_ok_and(|count| count >= self.asked.limit) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn give_up(&mut self, why: Failed) -> ControlFlow<()> {
        self.fault = Some(why);
        ControlFlow::Break(())
    }
}

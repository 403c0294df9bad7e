//! Objects of the user's own manifests: sent to the API server, remembered, and taken away at the end.
//! Not here: reading them (`manifest`) and the pods that steps make (`world`).

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{GroupVersionKind, TypeMeta};
use kube::discovery::{Scope, pinned_kind};
use report::Failure;
use serde_json::{Value, json};

use crate::gang::Install;
use crate::manifest::{name, shown, word};
use crate::world::{Ask, LABEL, Made, World, api};

/// Who owns the fields, in the words of server-side apply.
const MANAGER: &str = "sliceproof-scenario";

/// An object that a manifest of the scenario made.
#[derive(Debug, Clone)]
pub(crate) struct Applied {
    kind: String,
    name: String,
    namespaced: bool,
    resource: ApiResource,
}

/// What the API server said.
type Answer = Result<(), String>;

fn types(object: &Value) -> TypeMeta {
    TypeMeta {
        api_version: word(object, "apiVersion").to_owned(),
        kind: word(object, "kind").to_owned(),
    }
}

impl World {
    /// Sends the objects, in order. A refusal is a failure.
    pub(crate) async fn apply(&mut self, objects: &[Value]) -> Result<(), Failure> {
        for object in objects {
            self.send(object).await?.map_err(|refusal| {
                Failure::new(format!("the API server refuses {}", shown(object)))
                    .versus("it is accepted", refusal)
            })?;
        }
        Ok(())
    }

    /// Starts a scheduler. The kinds that it wants stay: nobody else has objects of them.
    pub(crate) async fn start_scheduler(&mut self, install: Install) -> Result<(), Failure> {
        let kinds: Api<DynamicObject> = Api::all_with(
            self.testbed().client(),
            &ApiResource::erase::<CustomResourceDefinition>(&()),
        );
        for kind in &install.kinds {
            let how = PatchParams::apply(MANAGER).force().validation_strict();
            let sent = kinds.patch(name(kind), &how, &Patch::Apply(kind)).await;
            sent.map_err(|error| api(&format!("send {}", shown(kind)), &error))?;
        }
        self.schedulers.push(install.name);
        let start = cluster::Scheduler {
            component: install.component,
            configuration: &install.configuration,
            gates: install.gates,
        };
        let started = self.testbed().scheduler(install.name, Some(start)).await;
        started.map_err(|error| Failure::new(error.message))
    }

    /// Ends the schedulers that steps have started.
    pub(crate) async fn end_schedulers(&mut self) -> Result<(), Failure> {
        let mut first = Ok(());
        for name in std::mem::take(&mut self.schedulers) {
            let ended = self.testbed().scheduler(name, None).await;
            first = first.and(ended.map_err(|error| Failure::new(error.message)));
        }
        first
    }

    /// Sends the objects into a namespace beside the scenario's own, which is made if it is not there and goes at the end.
    pub(crate) async fn apply_beside(&mut self, objects: &[Value]) -> Result<(), Failure> {
        let beside = self.other_namespace();
        let kind = GroupVersionKind::gvk("", "v1", "Namespace");
        let namespaces = ApiResource::from_gvk(&kind);
        if !self
            .applied
            .iter()
            .any(|it| it.kind == "Namespace" && it.name == beside)
        {
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": beside, "labels": { LABEL: "yes" } } });
            let made = serde_json::from_value(namespace)
                .map_err(|error| Failure::new(error.to_string()))?;
            self.objects_of(&namespaces, false)
                .create(&PostParams::default(), &made)
                .await
                .map_err(|error| api("create another namespace", &error))?;
            self.applied.push(Applied {
                kind: "Namespace".to_owned(),
                name: beside.clone(),
                namespaced: false,
                resource: namespaces,
            });
        }
        for object in objects {
            let shown = shown(object);
            let (resource, _) = self
                .kind_of(object)
                .await?
                .map_err(|refusal| Failure::new(format!("{shown} cannot be sent: {refusal}")))?;
            let mut object = object.clone();
            object["metadata"]["labels"][LABEL] = json!("yes");
            object["metadata"]["namespace"] = json!(beside);
            let there: Api<DynamicObject> =
                Api::namespaced_with(self.testbed().client(), &beside, &resource);
            let how = PatchParams::apply(MANAGER).force().validation_strict();
            there
                .patch(name(&object), &how, &Patch::Apply(&object))
                .await
                .map_err(|error| api(&format!("send {shown} to the other namespace"), &error))?;
        }
        Ok(())
    }

    /// Sends the objects until one is refused, and keeps the refusal for a later step.
    pub(crate) async fn try_out(&mut self, objects: &[Value]) -> Result<(), Failure> {
        for object in objects {
            let answer = self.send(object).await?;
            let refused = answer.is_err();
            self.tried = Some(answer.map_err(|refusal| format!("{}: {refusal}", shown(object))));
            if refused {
                break;
            }
        }
        Ok(())
    }

    /// Deletes an object that a manifest of the scenario made.
    pub(crate) async fn take_back(&mut self, kind: &str, name: &str) -> Result<(), Failure> {
        let at = self
            .applied
            .iter()
            .position(|it| it.kind == kind && it.name == name);
        let Some(at) = at else {
            let known: Vec<String> = self
                .applied
                .iter()
                .map(|it| format!("{} {:?}", it.kind, it.name))
                .collect();
            return Err(Failure::new(format!(
                "no manifest of this scenario made a {kind} {name:?}"
            ))
            .versus(format!("{kind} {name:?}"), known.join(", ")));
        };
        let object = self.applied.remove(at);
        self.delete_object(&object).await
    }

    /// Takes away what the manifests made, the newest first.
    pub(crate) async fn take_all_back(&mut self) -> Result<(), Failure> {
        let mut first = Ok(());
        for object in std::mem::take(&mut self.applied).iter().rev() {
            let result = self.delete_object(object).await;
            if first.is_ok() {
                first = result;
            }
        }
        first
    }

    fn objects_of(&self, resource: &ApiResource, namespaced: bool) -> Api<DynamicObject> {
        let client = self.testbed().client();
        if namespaced {
            Api::namespaced_with(client, self.namespace(), resource)
        } else {
            Api::all_with(client, resource)
        }
    }

    async fn delete_object(&self, object: &Applied) -> Result<(), Failure> {
        let objects = self.objects_of(&object.resource, object.namespaced);
        match objects
            .delete(&object.name, &DeleteParams::background())
            .await
        {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(api(
                &format!("delete the {} {:?}", object.kind, object.name),
                &error,
            )),
        }
    }

    /// What the API server would say of the object, which is not created.
    pub(crate) async fn would_be_sent(&self, object: &Value) -> Result<Answer, Failure> {
        let (resource, namespaced) = match self.kind_of(object).await? {
            Ok(found) => found,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let object = self.labelled(object, namespaced);
        let object = match serde_json::from_value::<DynamicObject>(object) {
            Ok(object) => object,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let objects = self.objects_of(&resource, namespaced);
        match objects.create(&dry, &object).await {
            Ok(_) => Ok(Ok(())),
            Err(kube::Error::Api(status)) => Ok(Err(status.message.clone())),
            Err(error) => Err(api("try an object out", &error)),
        }
    }

    /// How the API server serves the object's kind, and whether in namespaces; or why not at all.
    async fn kind_of(
        &self,
        object: &Value,
    ) -> Result<Result<(ApiResource, bool), String>, Failure> {
        let types = types(object);
        let Ok(gvk) = GroupVersionKind::try_from(&types) else {
            return Ok(Err(format!(
                "{:?} is not the version of an API",
                types.api_version
            )));
        };
        match pinned_kind(&self.testbed().client(), &gvk).await {
            Ok((resource, capabilities)) => {
                Ok(Ok((resource, capabilities.scope == Scope::Namespaced)))
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {
                Ok(Err(format!("{} is not served", types.api_version)))
            }
            Err(kube::Error::Discovery(_)) => Ok(Err(format!(
                "there is no kind {} in {}",
                types.kind, types.api_version
            ))),
            Err(error) => Err(api(
                &format!("ask for the kind of {}", shown(object)),
                &error,
            )),
        }
    }

    /// The object as one of this scenario's.
    fn labelled(&self, object: &Value, namespaced: bool) -> Value {
        let mut object = object.clone();
        object["metadata"]["labels"][LABEL] = json!("yes");
        if namespaced {
            object["metadata"]["namespace"] = json!(self.namespace());
        }
        object
    }

    async fn send(&mut self, object: &Value) -> Result<Answer, Failure> {
        let types = types(object);
        let shown = shown(object);
        let (resource, namespaced) = match self.kind_of(object).await? {
            Ok(found) => found,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if types.kind == "Namespace" && types.api_version == "v1" {
            return self.adorn(object, &resource).await;
        }
        let object = self.labelled(object, namespaced);
        let objects = self.objects_of(&resource, namespaced);
        let whole = name(&object).to_owned();
        let known = |it: &Applied| it.kind == types.kind && it.name == whole;
        let generated = word(&object["metadata"], "name").is_empty();
        let ours = self.applied.iter().any(known);
        if !generated && !ours {
            let there = objects
                .get_opt(&whole)
                .await
                .map_err(|error| api(&format!("get {shown}"), &error))?;
            if there.is_some() {
                return Err(Failure::new(format!(
                    "{shown} is there already, and no manifest of this scenario made it"
                ))
                .help(
                    "give yours another name: a scenario changes and removes only what is its own",
                ));
            }
        }
        let sent = if generated {
            match serde_json::from_value::<DynamicObject>(object) {
                Ok(object) => objects.create(&PostParams::default(), &object).await,
                Err(error) => return Ok(Err(error.to_string())),
            }
        } else {
            let how = PatchParams::apply(MANAGER).force().validation_strict();
            objects.patch(&whole, &how, &Patch::Apply(&object)).await
        };
        let made = match sent {
            Ok(made) => made,
            Err(kube::Error::Api(status)) => return Ok(Err(status.message.clone())),
            Err(error) => return Err(api(&format!("send {shown}"), &error)),
        };
        let name = made.metadata.name.unwrap_or(whole);
        if types.kind == "Pod" && !ours {
            self.made.push(Made {
                pod: name.clone(),
                ask: Ask::Own,
                ended: false,
                before: None,
            });
        }
        if !ours {
            self.applied.push(Applied {
                kind: types.kind,
                name,
                namespaced,
                resource,
            });
        }
        Ok(Ok(()))
    }

    /// A Namespace of a manifest stands for the scenario's own: labels and annotations go there.
    async fn adorn(&self, object: &Value, resource: &ApiResource) -> Result<Answer, Failure> {
        let metadata = &object["metadata"];
        let patch = json!({ "metadata": { "labels": metadata["labels"], "annotations": metadata["annotations"] } });
        let namespaces = self.objects_of(resource, false);
        let patched = namespaces
            .patch(
                self.namespace(),
                &PatchParams::default(),
                &Patch::Merge(&patch),
            )
            .await;
        match patched {
            Ok(_) => Ok(Ok(())),
            Err(kube::Error::Api(status)) => Ok(Err(status.message.clone())),
            Err(error) => Err(api("label the namespace", &error)),
        }
    }
}

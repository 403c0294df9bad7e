//! A certificate authority of the cluster's own and one identity per component.
//! Not a key store: everything lies in the run folder, lives as long as the cluster and is valid nowhere else.
//! Made before anything starts; the files go to the components' command lines and kubeconfigs.
use std::{
    fs,
    net::IpAddr,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};

use crate::error::{Error, Result};

/// Who a certificate speaks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subject {
    /// File name without an ending.
    pub file: String,
    /// Common name: the user.
    pub user: String,
    /// Organisation: the group.
    pub group: Option<String>,
    /// Host names it may serve as.
    pub names: Vec<String>,
    /// Addresses it may serve as.
    pub addresses: Vec<IpAddr>,
}

impl Subject {
    pub(crate) fn user(file: impl Into<String>, user: impl Into<String>) -> Self {
        Subject {
            file: file.into(),
            user: user.into(),
            ..Subject::default()
        }
    }

    pub(crate) fn group(mut self, group: &str) -> Self {
        self.group = Some(group.into());
        self
    }

    pub(crate) fn serves(mut self, names: &[&str], addresses: &[IpAddr]) -> Self {
        self.names = names.iter().map(|n| (*n).to_owned()).collect();
        self.addresses = addresses.to_vec();
        self
    }
}

/// A certificate and its key, on disk.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The authority.
pub(crate) struct Authority {
    dir: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Makes `ca.crt` and `ca.key` in a folder, or takes up the ones that lie there.
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        let (certificate, key_file) = (dir.join("ca.crt"), dir.join("ca.key"));
        let fail = fault("the cluster's authority");
        if certificate.exists() {
            let key = fs::read_to_string(&key_file).map_err(Error::io("read", &key_file))?;
            let key = KeyPair::from_pem(&key).map_err(&fail)?;
            return Ok(Authority {
                dir: dir.into(),
                issuer: Issuer::new(authority_params(), key),
            });
        }
        fs::create_dir_all(dir).map_err(Error::io("make", dir))?;
        let params = authority_params();
        let key = KeyPair::generate().map_err(&fail)?;
        write_private(
            &certificate,
            &params.self_signed(&key).map_err(&fail)?.pem(),
        )?;
        write_private(&key_file, &key.serialize_pem())?;
        Ok(Authority {
            dir: dir.into(),
            issuer: Issuer::new(params, key),
        })
    }

    pub(crate) fn certificate(&self) -> PathBuf {
        self.dir.join("ca.crt")
    }

    /// Issues a certificate for client and, with names or addresses, for server use.
    pub(crate) fn issue(&self, subject: &Subject) -> Result<Identity> {
        let fail = fault(&subject.user);
        let identity = Identity {
            certificate: self.dir.join(format!("{}.crt", subject.file)),
            key: self.dir.join(format!("{}.key", subject.file)),
        };
        let mut params = CertificateParams::new(subject.names.clone()).map_err(&fail)?;
        params
            .subject_alt_names
            .extend(subject.addresses.iter().copied().map(SanType::IpAddress));
        params
            .distinguished_name
            .push(DnType::CommonName, subject.user.as_str());
        if let Some(group) = &subject.group {
            params
                .distinguished_name
                .push(DnType::OrganizationName, group.as_str());
        }
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        if !(subject.names.is_empty() && subject.addresses.is_empty()) {
            params
                .extended_key_usages
                .push(ExtendedKeyUsagePurpose::ServerAuth);
        }
        let key = KeyPair::generate().map_err(&fail)?;
        write_private(
            &identity.certificate,
            &params.signed_by(&key, &self.issuer).map_err(&fail)?.pem(),
        )?;
        write_private(&identity.key, &key.serialize_pem())?;
        Ok(identity)
    }

    /// The key pair that signs service account tokens: (private, public).
    pub(crate) fn service_account_keys(&self) -> Result<(PathBuf, PathBuf)> {
        let (private, public) = (self.dir.join("sa.key"), self.dir.join("sa.pub"));
        let key = KeyPair::generate().map_err(fault("service accounts"))?;
        write_private(&private, &key.serialize_pem())?;
        write_private(&public, &key.public_key_pem())?;
        Ok((private, public))
    }
}

/// The same every time, so that the issuer can be made again from its key alone.
fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, "sliceproof cluster");
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
    ];
    params
}

fn fault(subject: &str) -> impl Fn(rcgen::Error) -> Error {
    let subject = subject.to_owned();
    move |e| Error::Pki {
        subject: subject.clone(),
        message: e.to_string(),
    }
}

/// Readable by the owner only.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    let file = fs::OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path);
    file.and_then(|mut f| f.write_all(text.as_bytes()))
        .map_err(Error::io("write", path))
}

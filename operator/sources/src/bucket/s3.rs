//! Amazon's S3 and what speaks its language: requests signed by version 4, or none without credentials.
//!
//! Source: AWS's description of Signature Version 4, tried on its own examples (tests).

use hmac::{Hmac, Mac};
use http::{HeaderName, HeaderValue, header};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::{
    address::{Address, encode},
    bucket::{encode_path, split},
    credentials::{Credentials, Wallet},
    fault::Fault,
    http::{Answer, Ask},
    package::Package,
};

/// The SHA-256 of nothing: no request has a body.
const NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A bucket and what is meant in it.
pub(crate) struct Bucket {
    /// Scheme, host and port.
    endpoint: Address,
    region: String,
    pub(crate) name: String,
    pub(crate) key: String,
    version: Option<String>,
    credentials: Credentials,
}

type Account = (String, String, Option<String>);

impl Bucket {
    /// Reads an address; with the kind of archive that it names.
    pub(crate) fn open(package: &Package<'_>, mut address: Address) -> Result<(Self, Option<String>), Fault> {
        let mut credentials = package.ring.of(&address);
        let archive = address.take_parameter("archive");
        let given = ["aws_access_key_id", "aws_access_key_secret", "aws_access_token"]
            .map(|name| address.take_parameter(name).filter(|value| !value.is_empty()));
        if let [Some(key), Some(secret), token] = given {
            credentials.access_key = Some((key, secret, token));
        }
        if address.take_parameter("aws_profile").is_some() {
            return Err(Fault::asked(format!(
                "{address} names a profile of AWS's own settings (aws_profile), which are not read here. Give the keys themselves."
            )));
        }
        let version = address.take_parameter("version");
        let region = address.take_parameter("region");
        let place = place(&address.host, &address.path).ok_or_else(|| {
            Fault::asked(format!(
                "{address} is no address in S3, such as https://s3.eu-central-1.amazonaws.com/BUCKET/KEY."
            ))
        })?;
        let endpoint = Address {
            host: place.host.unwrap_or_else(|| address.host.clone()),
            path: "/".to_owned(),
            user: None,
            password: None,
            query: None,
            ..address
        };
        let bucket = Self {
            endpoint,
            region: region.or(place.region).unwrap_or_else(|| "us-east-1".to_owned()),
            name: place.bucket,
            key: place.key,
            version,
            credentials,
        };
        Ok((bucket, archive))
    }

    pub(crate) async fn get(&self, package: &Package<'_>, key: &str, named: bool) -> Result<Answer, Fault> {
        let path = format!("/{}/{}", encode(&self.name), encode_path(key));
        let query = match self.version.as_ref().filter(|_| named) {
            Some(version) => vec![("versionId", version.clone())],
            None => Vec::new(),
        };
        self.ask(package, path, query).await
    }

    pub(crate) async fn page(
        &self,
        package: &Package<'_>,
        prefix: &str,
        next: Option<&str>,
    ) -> Result<Answer, Fault> {
        let mut query = vec![("list-type", "2".to_owned()), ("prefix", prefix.to_owned())];
        if let Some(next) = next {
            query.push(("continuation-token", next.to_owned()));
        }
        self.ask(package, format!("/{}", encode(&self.name)), query).await
    }

    async fn ask(
        &self,
        package: &Package<'_>,
        path: String,
        query: Vec<(&str, String)>,
    ) -> Result<Answer, Fault> {
        let mut pairs: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
            .collect();
        pairs.sort();
        let address = Address {
            path,
            query: Some(pairs.join("&")).filter(|query| !query.is_empty()),
            ..self.endpoint.clone()
        };
        let mut ask = Ask::get(package.deadline);
        if let Some(account) = &self.credentials.access_key {
            for (name, value) in sign(&address, &self.region, account, Timestamp::now()) {
                let mut value = HeaderValue::from_str(&value)
                    .map_err(|_| Fault::asked("A credential for S3 has a character that cannot be sent."))?;
                value.set_sensitive(true);
                ask.headers.insert(name, value);
            }
        }
        let wallet = Wallet::place(
            &address,
            Credentials {
                authorities: self.credentials.authorities.clone(),
                ..Credentials::default()
            },
        );
        // A signature is for one address alone, so no redirect is followed.
        let answer = package.fetcher.web.send_once(&address, &wallet, &ask).await?;
        if answer.status.is_redirection() {
            let region = answer
                .headers
                .get("x-amz-bucket-region")
                .and_then(|region| region.to_str().ok());
            let region = region.map_or(String::new(), |region| format!(", which is {region}"));
            return Err(Fault::asked(format!(
                "The bucket {} is in another region than {}{region}. Name it in the address.",
                self.name, self.region
            )));
        }
        Ok(answer)
    }
}

struct Place {
    /// Where another host than the address' own is asked.
    host: Option<String>,
    region: Option<String>,
    bucket: String,
    key: String,
}

/// Which bucket and key an address means: Amazon's hosts name region and maybe bucket, others have the bucket in the path.
fn place(host: &str, path: &str) -> Option<Place> {
    let suffix = ["amazonaws.com", "amazonaws.com.cn"]
        .into_iter()
        .find(|suffix| host.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('.')));
    let in_path = |region: Option<String>, host: Option<String>| {
        let mut parts = split(path, 2).into_iter();
        let (bucket, key) = (parts.next()?, parts.next()?);
        (!bucket.is_empty()).then_some(Place {
            host,
            region,
            bucket,
            key,
        })
    };
    let Some(suffix) = suffix else {
        return in_path(None, None);
    };
    let parts: Vec<&str> = host
        .strip_suffix(suffix)?
        .trim_end_matches('.')
        .split('.')
        .collect();
    let regional = |part: &str| {
        let region = part.strip_prefix("s3")?.trim_start_matches('-');
        Some(if region.is_empty() {
            "us-east-1".to_owned()
        } else {
            region.to_owned()
        })
    };
    let endpoint = |region: &str| Some(format!("s3.{region}.{suffix}"));
    match &*parts {
        [service] => {
            let region = regional(service)?;
            in_path(Some(region.clone()), endpoint(&region))
        }
        ["s3", region] => in_path(Some((*region).to_owned()), endpoint(region)),
        [.., "s3", region] => {
            let bucket = parts.get(..parts.len() - 2)?.join(".");
            let host = endpoint(region);
            let key = split(path, 1).into_iter().next()?;
            let region = Some((*region).to_owned());
            Some(Place {
                host,
                region,
                bucket,
                key,
            })
        }
        [.., service] => {
            let region = regional(service)?;
            let bucket = parts.get(..parts.len() - 1)?.join(".");
            let host = endpoint(&region);
            let key = split(path, 1).into_iter().next()?;
            let region = Some(region);
            Some(Place {
                host,
                region,
                bucket,
                key,
            })
        }
        [] => None,
    }
}

/// The headers of a signed GET without a body.
fn sign(address: &Address, region: &str, account: &Account, now: Timestamp) -> Vec<(HeaderName, String)> {
    let (key, secret, token) = account;
    let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let date = now.strftime("%Y%m%d").to_string();
    let mut headers = vec![
        ("host", address.authority()),
        ("x-amz-content-sha256", NOTHING.to_owned()),
        ("x-amz-date", time.clone()),
    ];
    if let Some(token) = token {
        headers.push(("x-amz-security-token", token.clone()));
    }
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let lines: String = headers
        .iter()
        .map(|(name, value)| format!("{name}:{value}\n"))
        .collect();
    let query = address.query.as_deref().unwrap_or_default();
    let request = format!("GET\n{}\n{query}\n{lines}\n{names}\n{NOTHING}", address.path);
    let scope = format!("{date}/{region}/s3/aws4_request");
    let text = format!(
        "AWS4-HMAC-SHA256\n{time}\n{scope}\n{}",
        hex::encode(Sha256::digest(request))
    );
    let chain = [&*date, region, "s3", "aws4_request", &text];
    let signature = chain
        .iter()
        .fold(format!("AWS4{secret}").into_bytes(), |key, part| hmac(&key, part));
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={key}/{scope}, SignedHeaders={names}, Signature={}",
        hex::encode(signature)
    );
    let sent = headers
        .into_iter()
        // Of which the client makes its own.
        .filter(|(name, _)| *name != "host")
        .map(|(name, value)| (HeaderName::from_static(name), value));
    sent.chain([(header::AUTHORIZATION, authorization)]).collect()
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    // HMAC takes keys of any length.
    let hmac = Hmac::<Sha256>::new_from_slice(key).map(|hmac| hmac.chain_update(text));
    hmac.map_or_else(|_| Vec::new(), |hmac| hmac.finalize().into_bytes().to_vec())
}

/// The keys in a list of objects, and where it goes on.
pub(crate) fn read_page(xml: &str) -> (Vec<String>, Option<String>) {
    let keys = elements(xml, "Key").collect();
    let more = elements(xml, "IsTruncated").any(|truncated| truncated == "true");
    (
        keys,
        elements(xml, "NextContinuationToken").next().filter(|_| more),
    )
}

/// The texts of elements that hold nothing but text; that is all of XML that a list of objects has.
fn elements<'x>(xml: &'x str, name: &str) -> impl Iterator<Item = String> + 'x {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = xml;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&open)?;
        let (text, after) = after.split_once(&close)?;
        rest = after;
        Some(unescape(text))
    })
}

fn unescape(text: &str) -> String {
    let mut all = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        all.push_str(before);
        let (entity, after) = after.split_once(';').unwrap_or((after, ""));
        let number = entity
            .strip_prefix('#')
            .and_then(|number| match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16).ok(),
                None => number.parse().ok(),
            });
        all.extend(match entity {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => number.and_then(char::from_u32),
        });
        rest = after;
    }
    all.push_str(rest);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_mean_buckets() {
        let check = |host: &str, path: &str, want: Option<(&str, &str, &str)>| {
            let got =
                place(host, path).map(|place| (place.region.unwrap_or_default(), place.bucket, place.key));
            let want =
                want.map(|(region, bucket, key)| (region.to_owned(), bucket.to_owned(), key.to_owned()));
            assert_eq!(got, want, "{host}{path}");
        };
        check(
            "s3.amazonaws.com",
            "/b/k/l.zip",
            Some(("us-east-1", "b", "k/l.zip")),
        );
        check(
            "s3-eu-west-1.amazonaws.com",
            "/b/k",
            Some(("eu-west-1", "b", "k")),
        );
        check(
            "s3.eu-west-1.amazonaws.com",
            "/b/k%20l",
            Some(("eu-west-1", "b", "k l")),
        );
        check("b.s3.amazonaws.com", "/k", Some(("us-east-1", "b", "k")));
        check(
            "b.s3-eu-west-1.amazonaws.com",
            "/k",
            Some(("eu-west-1", "b", "k")),
        );
        check(
            "b.c.s3.cn-north-1.amazonaws.com.cn",
            "/k/l",
            Some(("cn-north-1", "b.c", "k/l")),
        );
        check("minio.test", "/b/k/l", Some(("", "b", "k/l")));
        check("minio.test", "/b", None);
        check("ec2.amazonaws.com", "/b/k", None);
    }

    /// The example of a GET in AWS's description of Signature Version 4 for S3, without its Range header.
    #[test]
    fn signatures_are_those_of_version_4() {
        let address = Address::parse("https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J").unwrap();
        let account = (
            "AKIAIOSFODNN7EXAMPLE".to_owned(),
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            None,
        );
        let now = "2013-05-24T00:00:00Z".parse().unwrap();
        let headers = sign(&address, "us-east-1", &account, now);
        let (_, authorization) = headers.last().unwrap();
        assert!(
            authorization.ends_with("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
            "{authorization}"
        );
    }

    #[test]
    fn lists_are_read() {
        let xml = "<?xml?><ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>a/b&amp;c.tf</Key></Contents>\
                   <Contents><Key>a/&#x64;</Key></Contents><NextContinuationToken>t</NextContinuationToken></ListBucketResult>";
        let want = vec!["a/b&c.tf".to_owned(), "a/d".to_owned()];
        assert_eq!(read_page(xml), (want, Some("t".to_owned())));
        assert_eq!(read_page("<Key>open"), (vec![], None));
    }
}

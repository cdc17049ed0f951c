# The operator's image: one static program, the public certificate authorities, and nothing else.
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN RUSTFLAGS='-C target-feature=+crt-static' \
    cargo build --release --locked --package ashlar-cli --target x86_64-unknown-linux-gnu

FROM scratch
COPY --from=build /src/target/x86_64-unknown-linux-gnu/release/ashlar /ashlar
# Providers reach their APIs over TLS.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
USER 65532:65532
ENTRYPOINT ["/ashlar"]

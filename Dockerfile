# Two stages: wheels are installed where pip is, and only what runs goes into the image.
FROM python:3.11.14-slim-bookworm AS build

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /build
COPY requirements/bootstrap.lock requirements/dev.lock requirements/
RUN python -m venv /opt/uv && /opt/uv/bin/pip install --require-hashes -r requirements/bootstrap.lock
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src ./src
# What the extras need, at the versions and hashes of the lock file. `uv export` of the lock is not needed: the
# compiled set is the lock itself as a constraint, so that nothing for development comes along.
RUN python -m venv /opt/kosmos \
 && /opt/uv/bin/uv pip compile --quiet --generate-hashes --constraint requirements/dev.lock \
      --extra postgres --extra redis --extra milvus --extra office --extra rescue --extra weights \
      --extra models --extra ops pyproject.toml -o /build/run.lock \
 && /opt/uv/bin/uv pip sync --quiet --python /opt/kosmos/bin/python --require-hashes /build/run.lock \
 && /opt/uv/bin/uv pip install --quiet --python /opt/uv/bin/python hatchling editables \
 && /opt/uv/bin/uv build --quiet --wheel --no-build-isolation --python /opt/uv/bin/python --out-dir /build/dist . \
 && /opt/uv/bin/uv pip install --quiet --python /opt/kosmos/bin/python --no-deps /build/dist/*.whl \
 && /opt/kosmos/bin/python -m compileall -q /opt/kosmos/lib

FROM python:3.11.14-slim-bookworm

RUN groupadd --gid 10001 kosmos && useradd --uid 10001 --gid kosmos --no-create-home --shell /usr/sbin/nologin kosmos \
 && install -d -o kosmos -g kosmos -m 0700 /var/lib/kosmos
COPY --from=build /opt/kosmos /opt/kosmos

ENV PATH=/opt/kosmos/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp \
    KOSMOS_HOME=/var/lib/kosmos \
    KOSMOS_HOST=0.0.0.0 \
    KOSMOS_PORT=8420 \
    KOSMOS_LOG_FORMAT=json \
    KOSMOS_LOG_LEVEL=INFO
# The root file system may be read-only: what is written goes to the home, and for a moment to /tmp.
VOLUME ["/var/lib/kosmos"]
USER 10001:10001
WORKDIR /var/lib/kosmos
EXPOSE 8420
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=4 \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8420/healthz', timeout=4)"]
ENTRYPOINT ["kosmos"]
CMD ["serve"]

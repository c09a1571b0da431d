"""What `kosmos top` reads of a server."""

from kosmos.cli.top import Server, read_counts


def test_counts_are_summed_over_their_labels() -> None:
    text = (
        "# HELP kosmos_streams_open Streams.\n# TYPE kosmos_streams_open gauge\n"
        'kosmos_streams_open{route="/a b"} 2\nkosmos_streams_open{route="/c"} 3\n'
        'kosmos_http_requests_total{method="GET",route="/x",status="200"} 7\n'
        'kosmos_streams_total{route="/c"} 9\n'
    )
    assert read_counts(text) == Server(5, 7)
    assert read_counts("") == Server(0, 0)

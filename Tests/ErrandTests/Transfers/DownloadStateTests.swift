@testable import Errand
import ErrandTestSupport
import Testing

@Suite("What a download does with a response") struct DownloadStateTests {
    private static let tag: HTTPHeaders = ["ETag": "\"a\""]

    /// A response, and what follows it when 50 of 100 bytes are there.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: Int
        let headers: HTTPHeaders
        let step: DownloadState.Step

        init(_ name: String, _ status: Int, _ headers: HTTPHeaders, _ step: DownloadState.Step) {
            (testDescription, self.status, self.headers, self.step) = (name, status, headers, step)
        }
    }

    /// A 206 that fits, with changes.
    private static func part(_ change: HTTPHeaders = [:], without name: String? = nil) -> HTTPHeaders {
        var headers: HTTPHeaders = ["ETag": "\"a\"", "Content-Range": "bytes 50-99/100", "Content-Length": "50"]
        headers.merge(change)
        if let name { headers[name] = nil }
        return headers
    }

    private static let cases = [
        Case("the rest", 206, part(), .append(upTo: 100)),
        Case("without its length", 206, part(without: "Content-Length"), .append(upTo: 100)),
        Case(
            "the beginning of the rest", 206, part(["Content-Range": "bytes 50-59/100", "Content-Length": "10"]),
            .append(upTo: 60)),
        Case("D2 the whole file", 200, ["Content-Length": "100"], .beginAgain(total: 100)),
        Case("D2 a whole file of no known length", 200, [:], .beginAgain(total: nil)),
        Case("D2 another range, before", 206, part(["Content-Range": "bytes 49-99/100"]), .requestWhole),
        Case("D2 another range, after", 206, part(["Content-Range": "bytes 51-99/100"]), .requestWhole),
        Case("D2 another total", 206, part(["Content-Range": "bytes 50-99/101"]), .requestWhole),
        Case("D2 no total", 206, part(["Content-Range": "bytes 50-99/*"]), .requestWhole),
        Case("D2 no range", 206, part(without: "Content-Range"), .requestWhole),
        Case("D2 a range that cannot be", 206, part(["Content-Range": "bytes 50-100/100"]), .requestWhole),
        Case("D2 another length than its range", 206, part(["Content-Length": "49"]), .requestWhole),
        Case("D2 another validator", 206, part(["ETag": "\"b\""]), .requestWhole),
        Case("D2 a weak validator", 206, part(["ETag": "W/\"a\""]), .requestWhole),
        Case("D2 no validator", 206, part(without: "ETag"), .requestWhole),
        Case(
            "D2 two validators that differ", 206, HTTPHeaders(part().fields + [.init(name: "ETag", value: "\"b\"")]),
            .requestWhole),
        Case("D2 several ranges", 206, part(["Content-Type": "Multipart/Byteranges; boundary=x"]), .requestWhole),
        Case("D2 a compressed part", 206, part(["Content-Encoding": "gzip"]), .requestWhole),
        Case("D3 the length is the whole", 416, ["Content-Range": "bytes */50"], .requestWhole),
        Case("D3 the file is longer", 416, ["Content-Range": "bytes */100"], .requestWhole),
        Case("D3 nothing is said", 416, [:], .requestWhole),
        Case("not found", 404, [:], .fail),
        Case("the file is not ready", 202, ["Content-Length": "20"], .fail),
        Case("there is nothing", 204, [:], .fail),
        Case("a whole file by way of a proxy", 203, ["Content-Length": "100"], .beginAgain(total: 100)),
        Case("the server fails", 503, [:], .fail),
        Case("nothing has changed", 304, [:], .fail),
    ]

    @Test("D1, D2, D3: 50 of 100 bytes are there, of the version \"a\"", arguments: cases)
    func table(expected: Case) {
        let state = DownloadState(offset: 50, version: .tag("\"a\""), total: 100)
        #expect(state.isResumable)
        #expect(state.headers["Range"] == "bytes=50-" && state.headers["If-Range"] == "\"a\"")
        #expect(state.headers["Accept-Encoding"] == "identity")
        #expect(state.step(after: expected.status, expected.headers) == expected.step)
    }

    @Test("D3: a 416 means that the file is complete if its length is what is there, in the same version")
    func complete() {
        var state = DownloadState(offset: 100, version: .tag("\"a\""), total: 100)
        let whole: HTTPHeaders = ["Content-Range": "bytes */100"]
        #expect(state.step(after: 416, whole) == .complete)
        #expect(state.step(after: 416, [:]) == .complete)
        #expect(state.step(after: 416, ["Content-Range": "bytes */100", "ETag": "\"a\""]) == .complete)
        #expect(state.step(after: 416, ["Content-Range": "bytes */100", "ETag": "\"b\""]) == .requestWhole)
        let twoTags = HTTPHeaders([.init(name: "ETag", value: "\"a\""), .init(name: "ETag", value: "\"b\"")])
        #expect(state.step(after: 416, twoTags) == .requestWhole)
        #expect(state.step(after: 416, ["Content-Range": "bytes */99"]) == .requestWhole)
        // Without a total, only the server can say that this is all.
        state.total = nil
        #expect(state.step(after: 416, whole) == .complete)
        #expect(state.step(after: 416, [:]) == .requestWhole)
    }

    @Test("without a certain version, or after a range that did not fit, the whole file is requested")
    func notResumable() {
        for state in [
            DownloadState(), DownloadState(offset: 50, total: 100), DownloadState(version: .tag("\"a\"")),
            DownloadState(offset: 50, version: .tag("\"a\""), ignoresRanges: true),
        ] {
            #expect(!state.isResumable)
            #expect(state.headers == ["Accept-Encoding": "identity"])
            #expect(state.step(after: 200, ["Content-Length": "9"]) == .beginAgain(total: 9))
            #expect(state.step(after: 206, Self.part()) == .fail)
            #expect(state.step(after: 206, ["Content-Range": "bytes 0-9/10"]) == .beginAgain(total: 10))
            #expect(state.step(after: 416, ["Content-Range": "bytes */50"]) == .fail)
        }
    }

    @Test("D16: compressed bytes are refused; a part of them is not appended, and the whole file requested")
    func compressed() {
        let headers: HTTPHeaders = ["Content-Encoding": "gzip, br", "Content-Length": "9", "ETag": "\"a\""]
        #expect(DownloadState().step(after: 200, headers) == .refuse(coding: "gzip, br"))
        let state = DownloadState(offset: 50, version: .tag("\"a\""), total: 100)
        #expect(state.step(after: 200, headers) == .refuse(coding: "gzip, br"))
        #expect(state.step(after: 206, Self.part(["Content-Encoding": "gzip"])) == .requestWhole)
        #expect(state.step(after: 404, headers) == .fail)
        #expect(DownloadState().begun(again: Self.tag, total: nil, isRepeatable: true).version == .tag("\"a\""))
        #expect(DownloadState().begun(again: Self.tag, total: nil, isRepeatable: false).version == nil)
    }

    @Test("D1: only a strong tag, or a date that has settled, distinguishes versions")
    func versions() {
        func version(_ headers: HTTPHeaders) -> FileVersion? { FileVersion(headers) }
        let (early, late) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:37 GMT")
        #expect(version(["ETag": "\"a\""]) == .tag("\"a\""))
        #expect(version(["ETag": "\"\""]) == .tag("\"\""))
        for tag in ["W/\"a\"", "a", "\"a", "a\"", "\"", "\"a\"b\"", "\"a b\"", ""] {
            #expect(version(["ETag": tag, "Last-Modified": early, "Date": late]) == nil, "\(tag)")
        }
        #expect(version(["Last-Modified": early, "Date": late]) == .date(early))
        #expect(version(["Last-Modified": early, "Date": "Sun, 06 Nov 1994 08:50:36 GMT"]) == nil)
        #expect(version(["Last-Modified": late, "Date": early]) == nil)
        #expect(version(["Last-Modified": early]) == nil)
        #expect(version(["Last-Modified": "yesterday", "Date": late]) == nil)
        // Two fields that differ name no certain version.
        let (one, two) = (
            HTTPHeaders.Field(name: "ETag", value: "\"a\""), HTTPHeaders.Field(name: "etag", value: "\"b\"")
        )
        #expect(FileVersion(HTTPHeaders([one, one])) == .tag("\"a\""))
        #expect(FileVersion(HTTPHeaders([one, two])) == nil)
        var dates: HTTPHeaders = ["Last-Modified": early, "Date": late]
        dates.add(name: "Last-Modified", value: late)
        #expect(FileVersion(dates) == nil)
        #expect(FileVersion.tag("\"a\"").matchesPart(with: HTTPHeaders([one, one])))
        #expect(!FileVersion.tag("\"a\"").matchesPart(with: HTTPHeaders([one, two])))
        #expect(!FileVersion.tag("\"a\"").matchesPart(with: [:]))
        #expect(!FileVersion.date(late).matchesPart(with: dates))
        // The server may leave the date out of a part, but not change it.
        #expect(FileVersion.date(early).matchesPart(with: [:]))
        #expect(FileVersion.date(early).matchesPart(with: ["Last-Modified": early]))
        #expect(!FileVersion.date(early).matchesPart(with: ["Last-Modified": late]))
        #expect(!FileVersion.date(early).matchesPart(with: ["ETag": "\"a\""]))
    }

    @Test(
        "D18: progress is 4 KiB, a thousandth of a smaller file, or one byte",
        arguments: [
            (nil, 4096), (1 << 40, 4096), (5_000_000, 4096), (2_000_000, 2000), (1000, 1), (5, 1), (0, 1),
        ] as [(Int?, Int)])
    func progress(total: Int?, least: Int) {
        #expect(DownloadState(offset: 100 + least, total: total).isProgress(after: 100))
        #expect(!DownloadState(offset: 100 + least - 1, total: total).isProgress(after: 100))
    }
}

import ErrandJSON
import FoundationEssentials
import Glibc

/// Every parser of bytes that come from a server, with input from libFuzzer. `.ci/fuzz` builds it together with the
/// library's own sources, so that it has access to internal declarations.
enum Parser: String, CaseIterable {
    case head, date, pacing, words, url, link, token, redaction, answer, json, events, lines, range, digest, fields
    case multipart, cookie, cache, entry

    func parse(_ bytes: UnsafeBufferPointer<UInt8>) {
        let text = String(decoding: bytes, as: UTF8.self)
        switch self {
        case .head:
            guard let head = CurlHead(bytes) else { return }
            expect((100...599).contains(head.status))
            expect(head.headers.allSatisfy { !$0.name.isEmpty && !$0.name.contains("\n") && !$0.value.contains("\n") })
        case .date:
            // No date from a server may yield a value that overflows later.
            if let date = HTTPDate.parse(text, now: Date(timeIntervalSince1970: 1_700_000_000)) {
                expect(abs(date.timeIntervalSince1970) < 1e12)
                // What was read is read again from what is written.
                expect(HTTPDate.parse(HTTPDate.text(date), now: date) == date)
            }
        case .pacing:
            let fields = text.split(separator: "\n").map { line in
                let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                return HTTPHeaders.Field(name: String(parts[0]), value: parts.count > 1 ? String(parts[1]) : "")
            }
            let now = Date(timeIntervalSince1970: 1_700_000_000)
            for status in [200, 429] {
                let response = HTTPResponse(status: status, headers: HTTPHeaders(fields))
                if let pause = RetryAfterHeaders.pause(after: response, date: now) {
                    expect(pause >= .zero)
                    // Such a pause is added to the current instant.
                    _ = Instant.zero.advanced(by: pause)
                }
            }
        case .cache: store(text)
        case .entry: read(UnsafeRawBufferPointer(bytes))
        case .words:
            let words = ErrorBody(Data(bytes), redactor: .standard)
            expect(words.message?.isEmpty != true)
        case .url:
            guard let base = try? HTTPURL("https://api.test/a/b?c=d") else { return expect(false) }
            for url in [try? HTTPURL(text), try? base.resolving(text)].compactMap({ $0 }) {
                // A parsed value must parse again to the same.
                expect((try? HTTPURL(url.absoluteString)) == url)
                expect(["http", "https"].contains(url.origin.scheme) && !url.origin.host.isEmpty)
                expect(url.absoluteString.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
            }
        case .link:
            if let target = LinkHeader.next(in: text.split(separator: "\n").map(String.init)) {
                expect(!target.contains(">"))
            }
        case .token:
            // Invalid responses are refused, which is not what is tested here.
            guard let answer = try? JSONDecoder().decode(OAuthAnswer.self, from: Data(bytes)) else { return }
            expect(answer.error != nil || !answer.access.isEmpty && HTTPSyntax.isFieldValue(answer.access))
            expect(answer.refresh?.isEmpty != true && (answer.lifetime ?? 1) > 0)
            _ = answer.lifetime.map { Date(timeIntervalSince1970: 1_700_000_000 + $0).description }
        case .redaction:
            let secret = "s3cr3t-of-the-user"
            let redactor = Redactor(hiding: [secret])
            let shown = redactor.text(#"{"access_token": "\#(secret)", "x": "\#(text)"}"#)
            expect(!shown.contains(secret))
            _ = Redactor.standard.text(ofURL: text)
            _ = redactor.beginning(of: bytes, length: 100)
        case .answer:
            let interpreter = ResponseInterpreter(
                decoder: FastJSONDecoder(), acceptedContentTypes: ["application/json"], time: .system)
            for status in [200, 404] {
                let response = HTTPResponse(status: status, headers: [:], body: .bytes(Data(bytes)))
                do throws(ServiceError) {
                    _ = try interpreter.value([String: [Int]].self, below: ["a"], in: response) { .standard }
                } catch {
                    _ = "\(error)"
                }
            }
        case .json: expect(JSONComparison.holds(for: Data(bytes)))
        case .events:
            // The first byte says how the rest is split.
            guard let size = bytes.first else { return }
            expect(events(bytes.dropFirst(), inPiecesOf: Int(size) + 1) == events(bytes.dropFirst(), inPiecesOf: .max))
        case .lines:
            guard let size = bytes.first else { return }
            expect(lines(bytes.dropFirst(), inPiecesOf: Int(size) + 1) == lines(bytes.dropFirst(), inPiecesOf: .max))
        case .range:
            switch ContentRange(text) {
            case .part(let range, let length)?:
                expect(range.lowerBound >= 0 && !range.isEmpty && range.upperBound <= length ?? .max)
                // What fits exactly is appended, and nothing else.
                let state = DownloadState(offset: 7, version: .tag("\"a\""))
                let step = state.step(after: 206, ["ETag": "\"a\"", "Content-Range": text])
                expect((step == .append(upTo: range.upperBound)) == (range.lowerBound == 7 && length != nil))
            case .unsatisfied(let length)?: expect(length >= 0)
            case nil: break
            }
        case .digest:
            guard let fields = DigestFields(text.split(separator: "\n").map(String.init)) else { return }
            expect(fields.sha256?.count ?? 32 == 32)
            // A dictionary without digests has no canonical form.
            guard !fields.digests.isEmpty else { return }
            // What was read is read again from its canonical form.
            let written = fields.digests.map { "\($0.key)=:\(Data($0.value).base64EncodedString()):" }
            expect(DigestFields(written) == fields)
        case .fields:
            let values = text.split(separator: "\n").map(String.init)
            let members = StructuredField.dictionary(values) ?? []
            expect(members.allSatisfy { $0.key != nil } && Set(members.map(\.key)).count == members.count)
            // An item is also a list of one member.
            if let item = StructuredField.item(values) { expect(StructuredField.list(values) == [item]) }
            for element in FieldParser.elements(of: values) ?? [] {
                expect(!element.isEmpty && element == element.trimmed)
                _ = MediaType(String(element)).charset
            }
        case .cookie:
            for line in SetCookieLines.split(joined: text) + SetCookieLines.split(text) {
                guard let cookie = SetCookie(line) else { continue }
                // What a jar sends back, it would read as the same cookie.
                let again = SetCookie("\(cookie.name)=\(cookie.value)")
                expect(again?.name == cookie.name && again?.value == cookie.value)
                expect(HTTPSyntax.isFieldValue(cookie.name) && HTTPSyntax.isFieldValue(cookie.value))
                expect(!cookie.value.utf8.contains(UInt8(ascii: ";")))
                guard let url = try? HTTPURL("https://a.b.example.com/c/d"),
                    let kept = try? Cookie(
                        cookie, from: CookieSource(url), sites: CookieSites(["example.com"]),
                        at: Date(timeIntervalSince1970: 1_700_000_000))
                else { continue }
                expect(kept.problem == nil && CookieHost("a.b.example.com").isWithin(kept.domain))
                expect(kept.domain.hasSuffix("example.com"))
            }
        case .multipart: expect(MultipartComparison.holds(for: Data(bytes)))
        }
    }

    /// Returns the events of a stream that comes in such pieces, and `nil` in place of an error.
    private func events(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, inPiecesOf size: Int) -> [ServerSentEvent?] {
        var (parser, events) = (EventStreamParser(limit: 64), [ServerSentEvent?]())
        for piece in pieces(of: bytes, size) {
            parser.append(piece)
            do throws(ServiceError) {
                while let event = try parser.next() { events.append(event) }
            } catch {
                return events + [nil]
            }
        }
        return events
    }

    private func lines(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, inPiecesOf size: Int) -> [[UInt8]?] {
        var (splitter, lines) = (LineSplitter(limit: 64), [[UInt8]?]())
        for piece in pieces(of: bytes, size) {
            splitter.append(piece)
            do throws(ServiceError) {
                while let line = try splitter.next() { lines.append(Array(line)) }
            } catch {
                return lines + [nil]
            }
        }
        return lines + [splitter.rest().map(Array.init)]
    }

    private func pieces(of bytes: Slice<UnsafeBufferPointer<UInt8>>, _ size: Int) -> [Data] {
        stride(from: 0, to: bytes.count, by: min(size, max(1, bytes.count))).map { start in
            Data(bytes.dropFirst(start).prefix(size))
        }
    }

    /// Stores a response with the fields in the text, one a line, and asks what to do with it.
    private func store(_ text: String) {
        var headers = HTTPHeaders()
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            headers.add(name: String(parts[0]), value: parts.count > 1 ? String(parts[1]) : "")
        }
        guard let url = try? HTTPURL("https://api.test/a") else { return expect(false) }
        let request = HTTPRequest(method: .get, url: url, headers: headers)
        let start = CacheMoment(date: Date(timeIntervalSince1970: 1_700_000_000), instant: .zero)
        let identity = IdentityFields(.standard)
        let exchange = CacheExchange(
            request: request, sent: request, rules: CacheRules(), signedWith: nil, received: start, delay: .zero,
            identity: identity)
        let response = HTTPResponse(status: 200, headers: headers, body: .bytes(Data()))
        _ = request.removals(by: response)
        guard case .store(let stored) = exchange.outcome(of: response) else { return }
        expect(!stored.control.noStore && stored.freshness.lifetime >= 0 && stored.freshness.initialAge >= 0)
        expect(stored.variant.matches(headers, isParted: identity.contains))
        let inquiry = CacheInquiry(HTTPRequest(method: .get, url: url), rules: CacheRules())
        let later = CacheMoment(
            date: start.date.addingTimeInterval(100), instant: Instant.zero.advanced(by: .seconds(100)))
        if case .serve(let age) = inquiry.decision(on: stored, at: later) {
            expect(age >= 100 && age < stored.freshness.lifetime && !stored.control.noCache)
        }
        _ = exchange.confirmed(stored, by: HTTPResponse(status: 304, headers: headers))
        _ = stored.response(withBody: true, age: stored.freshness.age(at: later), as: CacheStatus(.hit))
    }

    /// Reads the fields of a file of a cache, and the whole file.
    private func read(_ bytes: UnsafeRawBufferPointer) {
        let file = try? CacheEntryFile(prefix: bytes, fileLength: bytes.count)
        if let file { _ = try? file.fields(in: bytes, seed: 1) }
        var reader = StoredFieldReader(bytes)
        guard let fields = try? CacheEntryFile.Fields(&reader) else { return }
        let head = CacheEntryFile.head(of: fields, body: Data([7]), seed: 1)
        head.withUnsafeBytes { head in
            // What was read is read again from what is written.
            guard let file = try? CacheEntryFile(prefix: head, fileLength: head.count + 1),
                let again = try? file.fields(in: head, seed: 1)
            else { return expect(false) }
            expect(again.headers == fields.headers && again.variant == fields.variant && again.tags == fields.tags)
            expect([7 as UInt8].withUnsafeBytes { file.isIntact($0, seed: 1) })
        }
        guard let url = try? HTTPURL("https://api.test/a") else { return expect(false) }
        let stored = fields.response(to: url, body: Data(), ownClock: 1)
        expect(stored.freshness.lifetime >= 0 && stored.freshness.initialAge >= 0)
    }

    private func expect(_ isSo: Bool) {
        guard isSo else { fatalError("the parser of \(rawValue) broke its word") }
    }
}

/// The parser that the environment variable FUZZ names.
private let chosen = getenv("FUZZ").flatMap { Parser(rawValue: String(cString: $0)) }

/// libFuzzer's entry point, called with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let chosen else {
        print("set FUZZ to one of \(Parser.allCases.map(\.rawValue))")
        exit(1)
    }
    chosen.parse(UnsafeBufferPointer(start: bytes, count: count))
    return 0
}

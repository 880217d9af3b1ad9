import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// What calls cost whose responses have a field of 256 KB that was made to be slow to read.
enum FieldBench {
    private static let size = 256 << 10
    /// The budget of a call, in milliseconds of the processor.
    private static let budget = 5.0
    private static let cycles = 3

    private struct Answer: Transport {
        let response: HTTPResponse

        func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse { response }
        func shutdown() async {}
    }

    private static let names = [
        "Retry-After", "WWW-Authenticate", "Expires", "Date", "Last-Modified", "ETag", "Vary", "Age", "Cache-Control",
        "Connection", "Content-Type", "Content-Encoding", "Link", "Location", "Set-Cookie", "RateLimit",
        "X-RateLimit-Remaining", "Cache-Groups", "Content-Length", "X-Any",
    ]

    /// What a field has, of about that many bytes.
    private static let texts: [(name: String, text: String)] = [
        ("marks", marks(size)), ("a word of marks", "Sun" + marks(size)), ("a tag of marks", "W/\"\(marks(size))\""),
        ("a parameter of marks", "Bearer error=\"\(marks(size))\""),
        ("a cookie of marks", "a=b; Domain=.\(marks(size))"),
        ("a link of marks", "<\(marks(size / 2))>; rel=\(marks(size / 2))"), ("a URL of marks", "//a/\(marks(size))"),
        ("letters", String(repeating: "a", count: size)), ("quotation marks", String(repeating: "\"", count: size)),
        ("elements", String(repeating: "a,", count: size / 2)),
        ("parameters", String(repeating: "a=b;", count: size / 4)),
        ("spaces", "a" + String(repeating: " ", count: size) + "b"),
    ]

    /// Combining marks in the order that takes longest to sort.
    private static func marks(_ bytes: Int) -> String {
        String(repeating: "\u{301}", count: bytes / 4) + String(repeating: "\u{316}", count: bytes / 4)
    }

    /// The statuses with which the field matters.
    private static func statuses(for name: String) -> [Int] {
        switch name {
        case "Location": [301]
        case "WWW-Authenticate": [401]
        case "Retry-After", "RateLimit", "X-RateLimit-Remaining": [429]
        default: [200]
        }
    }

    /// Returns whether each call kept to the budget.
    static func run(into report: inout Report) async -> Bool {
        var isKept = true
        for name in names {
            var worst = (0.0, "")
            for text in texts {
                for status in statuses(for: name) {
                    let headers: HTTPHeaders = ["Content-Type": "application/json", name: text.text]
                    let response = HTTPResponse(status: status, headers: headers, body: .bytes(Data("{}".utf8)))
                    let time = await milliseconds(of: response)
                    if time > worst.0 { worst = (time, "\(status), \(text.name)") }
                }
            }
            isKept = isKept && worst.0 <= budget
            report.add("fields.\(name)", .number(worst.0), "ms of the processor at most for a call: \(worst.1)")
        }
        return isKept
    }

    private static func milliseconds(of response: HTTPResponse) async -> Double {
        var least = Double.infinity
        for _ in 0..<cycles {
            let client = APIClient("https://api.test") {
                $0.transport = Answer(response: response)
                $0.rateLimit = .unlimited
                $0.retry = .never
                $0.cache = .memory(megabytes: 16)
                $0.cookies = CookieJar(sites: ["api.test"])
            }
            let start = processorTime()
            for _ in 0..<2 { _ = try? await client.run(Endpoint<NoContent>.get("a")) }
            least = min(least, (processorTime() - start) / 2)
        }
        return least * 1000
    }

    /// Returns the time that the process has been running, in seconds.
    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

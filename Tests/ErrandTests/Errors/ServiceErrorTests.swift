@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("ServiceError: what a program and a person can read from it")
struct ServiceErrorTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var error: ServiceError
        var status: Int?
        var isTransient = false
        var mayHaveReachedServer = false
        var retryAfter: Duration?
        var detail: String
        var testDescription: String { error.debugDescription }
    }

    static let table: [Row] = [
        Row(error: .cancelled, mayHaveReachedServer: true, detail: "cancelled"),
        Row(error: .noInternetConnection, isTransient: true, detail: "noInternetConnection"),
        Row(
            error: .timedOut(Timeout(.attempt, limit: .milliseconds(1500), phase: .waitingForResponse)),
            isTransient: true, mayHaveReachedServer: true,
            detail: "The server took longer than 1.5 s (while waiting for the response); try again later"),
        Row(
            error: .timedOut(Timeout(.attempt, limit: .seconds(10), phase: .connecting)), isTransient: true,
            detail: "The server took longer than 10 s (while connecting); try again later"),
        Row(
            error: .timedOut(Timeout(.deadline, limit: .seconds(3), phase: .waitingForPermit)), isTransient: true,
            detail: "The call did not finish within 3 s (while waiting for the rate limit); try again later"),
        Row(
            error: .timedOut(Timeout(.deadline, limit: .seconds(3), phase: .receiving)), isTransient: true,
            mayHaveReachedServer: true,
            detail: "The call did not finish within 3 s (while receiving the response); try again later"),
        Row(
            error: .invalidRequest(InvalidRequest(.path, "the path climbs")),
            detail: "The request cannot be sent: the path climbs"),
        Row(
            error: .invalidRequest(InvalidRequest(.header, "the header is odd", mayHaveReachedServer: true)),
            mayHaveReachedServer: true, detail: "The request cannot be sent again: the header is odd"),
        Row(error: .signInRequired, detail: "signInRequired"),
        Row(
            error: .sessionExpired(SessionExpiry(.refreshRefused, message: "Token revoked", status: 400)), status: 400,
            detail: "Your session has expired; sign in again (Token revoked)"),
        Row(error: .sessionExpired(SessionExpiry(.signedOut)), detail: "You have signed out"),
        Row(
            error: .sessionExpired(SessionExpiry(.otherSession)),
            detail: "Another sign-in has replaced your session"),
        Row(
            error: .rateLimited(RateLimited(retryAfter: .seconds(7), status: 429)), status: 429, isTransient: true,
            mayHaveReachedServer: true, retryAfter: .seconds(7),
            detail: "The server has received too many requests; try again in 7 s"),
        Row(
            error: .rateLimited(RateLimited(retryAfter: .milliseconds(250))), isTransient: true,
            retryAfter: .milliseconds(250),
            detail: "The client's own rate limit does not allow this call in time; try again in 250 ms"),
        Row(
            error: .rateLimited(RateLimited(status: 429, message: "Slow down")), status: 429, isTransient: true,
            mayHaveReachedServer: true, detail: "Slow down"),
        Row(
            error: .rejected(Rejection(status: 404)), status: 404, mayHaveReachedServer: true,
            detail: "The server responded with 404 (Not Found); there is no such resource"),
        Row(
            error: .rejected(Rejection(status: 401)), status: 401, mayHaveReachedServer: true,
            detail: "The server responded with 401 (Unauthorized); sign in, or check the credentials"),
        Row(
            error: .rejected(Rejection(status: 403)), status: 403, mayHaveReachedServer: true,
            detail: "The server responded with 403 (Forbidden); you are not allowed to do this"),
        Row(
            error: .rejected(Rejection(status: 410)), status: 410, mayHaveReachedServer: true,
            detail: "The server responded with 410 (Gone); the resource no longer exists"),
        Row(
            error: .rejected(Rejection(status: 418)), status: 418, mayHaveReachedServer: true,
            detail: "The server responded with 418 (Client Error)"),
        Row(
            error: .rejected(Rejection(status: 408)), status: 408, isTransient: true, mayHaveReachedServer: true,
            detail: "The server responded with 408 (Request Timeout); try again later"),
        Row(
            error: .rejected(Rejection(status: 304)), status: 304, mayHaveReachedServer: true,
            detail: "The server responded with 304 (Not Modified); the resource has not changed"),
        Row(
            error: .rejected(Rejection(status: 422, message: "The name is taken")), status: 422,
            mayHaveReachedServer: true, detail: "The name is taken"),
        Row(
            error: .serverFailure(Rejection(status: 503, retryAfter: .seconds(30))), status: 503, isTransient: true,
            mayHaveReachedServer: true, retryAfter: .seconds(30),
            detail: "The server responded with 503 (Service Unavailable); try again in 30 s"),
        Row(
            error: .serverFailure(Rejection(status: 503)), status: 503, isTransient: true, mayHaveReachedServer: true,
            detail: "The server responded with 503 (Service Unavailable); try again later"),
        Row(
            error: .serverFailure(Rejection(status: 501)), status: 501, mayHaveReachedServer: true,
            detail: "The server responded with 501 (Not Implemented); try again later"),
        Row(
            error: .decodingFailed(DecodingFailure(path: "users[3].id", expected: "Int", found: "null", status: 200)),
            status: 200, mayHaveReachedServer: true,
            detail: "The server's response could not be read: expected Int at users[3].id, found null"),
        Row(
            error: .decodingFailed(DecodingFailure(path: "", expected: "Int", found: "text/html")),
            mayHaveReachedServer: true,
            detail: "The server's response could not be read: expected Int, found text/html"),
        Row(
            error: .transport(TransportFailure(.refused)), isTransient: true,
            detail: "The server refuses the connection; check that the server is running, and its port"),
        Row(
            error: .transport(TransportFailure(.reset, "by peer")), isTransient: true, mayHaveReachedServer: true,
            detail: "The connection to the server broke off: by peer; try again"),
        Row(
            error: .transport(TransportFailure(.reset, mayHaveReachedServer: false)), isTransient: true,
            detail: "The connection to the server broke off; try again"),
        Row(
            error: .transport(TransportFailure(.untrustedCertificate)),
            detail: "The server's certificate is not trusted"),
        Row(
            error: .transport(TransportFailure(.tooLarge)), mayHaveReachedServer: true,
            detail: "The server's response is too large"),
        Row(
            error: .paging(PagingFault(.repeated)), mayHaveReachedServer: true,
            detail: "The server's list returned to an earlier page"),
        Row(
            error: .paging(PagingFault(.tooManyPages, "more than 3")), mayHaveReachedServer: true,
            detail: "The list has too many pages: more than 3"),
    ]

    @Test("status, isTransient, mayHaveReachedServer and retryAfter of each case", arguments: table)
    func helpers(row: Row) {
        #expect(row.error.status == row.status)
        #expect(row.error.isTransient == row.isTransient)
        #expect(row.error.mayHaveReachedServer == row.mayHaveReachedServer)
        #expect(row.error.retryAfter == row.retryAfter)
    }

    @Test("for a developer each case has its name, and what happened in words", arguments: table)
    func debugging(row: Row) throws {
        #expect(row.error.detail == row.detail)
        let shown = if case .invalidRequest(let invalid) = row.error { invalid.reason } else { row.detail }
        #expect("\(row.error)".contains(shown))
        let name = try #require("\(row.error)".split(separator: "(").first)
        #expect(name == row.error.name && name.allSatisfy { $0.isLetter })
        let isQuiet = [.cancelled, .sessionExpired(SessionExpiry(.signedOut))].contains(row.error)
        #expect(row.error.needsNoMessage == isQuiet)
        let hasResponse = ["rejected", "serverFailure"].contains(name)
        #expect(row.error.rejection?.status == (hasResponse ? row.status : nil))
        #expect(String(reflecting: row.error) == "\(row.error)")
        if let status = row.error.status, case .rejected = row.error { #expect("\(row.error)".contains("\(status)")) }
    }

    @Test("the call is named in front, by the property, and not in the sentences", arguments: table)
    func naming(row: Row) {
        let error = row.error.naming("GET users/7")
        #expect(error == row.error && error.localizedDescription == row.error.localizedDescription)
        guard error.call != nil else { return #expect("\(error)" == "\(row.error)") }
        #expect(error.call == "GET users/7" && row.error.call == nil)
        #expect("\(error)" == "GET users/7: \(row.error)")
        // The call for a token that failed is more than the one that needed the token.
        #expect(error.naming("GET other").call == "GET users/7")
        #expect(error.markedAsSent(.post).call == "GET users/7")
    }

    @Test("the server, and several attempts, are named at the end of the line", arguments: table)
    func circumstances(row: Row) {
        let once = row.error.naming("GET x", at: "https://api.test", after: 1)
        let often = row.error.naming("GET x", at: "https://api.test", after: 3)
        #expect(once == often && once.detail == row.error.detail)
        guard once.call != nil else { return #expect("\(once)" == "\(row.error)") }
        #expect("\(once)" == "GET x: \(row.error) [https://api.test]")
        #expect("\(often)" == "GET x: \(row.error) [https://api.test, after 3 attempts]")
        #expect(often.localizedDescription == row.error.localizedDescription)
    }

    @Test("the user has to sign in only if nobody is signed in, or the session is over for good")
    func needsSignIn() {
        #expect(ServiceError.signInRequired.needsSignIn)
        for reason in SessionExpiry.Reason.allCases {
            let isOver = [.refreshRefused, .notRefreshable, .damaged].contains(reason)
            #expect(ServiceError.sessionExpired(SessionExpiry(reason)).needsSignIn == isOver)
        }
        for row in Self.table where row.error.needsSignIn {
            #expect(row.error == .signInRequired || row.detail.hasPrefix("Your session has expired"))
        }
    }

    @Test("only the cases without a payload cannot name their call")
    func nameless() {
        let nameless = Self.table.map(\.error).filter { $0.naming("GET x").call == nil }
        #expect(Set(nameless) == [.cancelled, .noInternetConnection, .signInRequired])
    }

    @Test(
        "every kind of transport failure has a sentence and says whether it may pass",
        arguments: TransportFailure.Kind.allCases)
    func kinds(kind: TransportFailure.Kind) {
        let transient: Set<TransportFailure.Kind> = [
            .dns, .refused, .unreachable, .reset, .tls, .proxy, .truncated, .outOfResources, .overloaded,
            .circuitOpen, .storage,
        ]
        let ambiguous: Set<TransportFailure.Kind> = [
            .reset, .truncated, .malformed, .tooLarge, .file, .digestMismatch, .requestBody, .middleware, .other,
        ]
        let error = ServiceError.transport(TransportFailure(kind))
        #expect(error.isTransient == transient.contains(kind))
        #expect(error.mayHaveReachedServer == ambiguous.contains(kind))
        #expect(!error.detail.isEmpty && !error.detail.hasSuffix(": "))
    }

    @Test("every fault of paging has a sentence of its own, and is not transient", arguments: PagingFault.Kind.allCases)
    func faults(kind: PagingFault.Kind) {
        let error = ServiceError.paging(PagingFault(kind))
        let sentence = error.detail
        #expect(!error.isTransient && !sentence.isEmpty && !sentence.hasSuffix(": "))
        #expect(PagingFault.Kind.allCases.filter { PagingFault($0).description == sentence } == [kind])
        let failure = PagingError(error, position: .start)
        #expect((failure as any Error).localizedDescription == error.localizedDescription)
        #expect("\(failure)" == "\(error) at the beginning" && String(reflecting: failure) == "\(failure)")
    }

    @Test(
        "durations are formatted as people say them",
        arguments: [
            (Duration.zero, "0 ms"), (.microseconds(5), "5 µs"), (.milliseconds(999), "999 ms"), (.seconds(1), "1 s"),
            (.milliseconds(1050), "1.05 s"), (.milliseconds(-1500), "-1.5 s"), (.seconds(3600), "3600 s"),
        ])
    func durations(duration: Duration, displayText: String) {
        let error = ServiceError.rateLimited(RateLimited(retryAfter: duration, status: 429))
        #expect(error.detail.hasSuffix("try again in \(displayText)"))
    }
}

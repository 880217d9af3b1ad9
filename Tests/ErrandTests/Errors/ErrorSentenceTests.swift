@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The sentences that an error shows to people")
struct ErrorSentenceTests {
    /// What errors contain for developers.
    private static let detail =
        "Failed to connect to 10.0.0.7 port 1: expected Double at [0].createdAt, see /tmp/a.json"

    static let statuses = [304, 307, 400, 401, 403, 404, 408, 409, 410, 412, 413, 418, 422, 500, 501, 503, 599, 700]

    /// Every case, with every kind of its payload and every status with a sentence of its own.
    static let errors: [ServiceError] = {
        var errors: [ServiceError] = [.cancelled, .noInternetConnection, .signInRequired]
        for bound in [Timeout.Bound.attempt, .deadline, .refresh, .signIn] {
            errors += Phase.allCases.map { .timedOut(Timeout(bound, limit: .seconds(7), phase: $0)) }
        }
        errors += InvalidRequest.Subject.allCases.map { .invalidRequest(InvalidRequest($0, detail)) }
        errors += SessionExpiry.Reason.allCases.map { .sessionExpired(SessionExpiry($0, message: detail, status: 400)) }
        let seconds: [Double] = [0, 0.001, 90, 91, 9000, 999_999]
        for wait in [nil] + seconds.map({ Duration.seconds($0) }) {
            errors.append(.rateLimited(RateLimited(retryAfter: wait)))
            errors.append(.rateLimited(RateLimited(retryAfter: wait, status: 429)))
            errors.append(.rateLimited(RateLimited(retryAfter: wait, status: 429, message: "slow_down")))
            for status in statuses {
                // The message of a 4xx is for users, unless it is an identifier.
                let isRefusal = (400..<500).contains(status)
                for message in [nil, "invalid_grant", isRefusal ? "E42: " : detail] {
                    let rejection = Rejection(
                        status: status, message: message, code: "E42", body: Data(detail.utf8), retryAfter: wait)
                    errors.append(status < 500 ? .rejected(rejection) : .serverFailure(rejection))
                }
            }
        }
        errors.append(.decodingFailed(DecodingFailure(path: "[0].createdAt", expected: "Double", found: "a string")))
        errors += TransportFailure.Kind.allCases.map { .transport(TransportFailure($0, detail)) }
        errors += PagingFault.Kind.allCases.map { .paging(PagingFault($0, detail)) }
        var unstored = Rejection(status: 504, message: detail)
        unstored.cacheStatus.value = CacheStatus(.miss, reason: .onlyIfCached)
        errors.append(.serverFailure(unstored))
        return errors
    }()

    @Test("no sentence has words for developers, or advice twice", arguments: ["en", "de"])
    func readable(language: String) {
        for error in Self.errors {
            let sentences = error.naming("GET users/7 at api.test").sentences
            #expect((1...2).contains(sentences.count))
            for sentence in sentences {
                let text = sentence.text(in: language)
                let plain = sentence.number.map { text.replacing("\($0)", with: "") } ?? text
                #expect(sentence.number.map { text.contains("\($0)") && $0 > 1 } ?? true, "\(text)")
                #expect(plain.wholeMatch(of: /[A-ZÄÖÜ][A-Za-zÄÖÜäöüß ,-]+\./) != nil, "\(error): \(text)")
                #expect(plain.firstMatch(of: /[a-zäöüß][A-ZÄÖÜ]/) == nil, "a name of code: \(text)")
            }
            let whole = error.localizedDescription(in: language)
            #expect(whole == sentences.map { $0.text(in: language) }.joined(separator: " "))
            for word in ["again", "Try", "erneut"] { #expect(whole.ranges(of: word).count <= 1, "\(whole)") }
        }
    }

    @Test(
        "what the most frequent errors say, and advise",
        arguments: [
            (.noInternetConnection, "No internet connection."), (.signInRequired, "You need to sign in first."),
            (
                .timedOut(Timeout(.attempt, limit: .seconds(30), phase: .waitingForResponse)),
                "The server did not respond in time. Try again later."
            ),
            (
                .sessionExpired(SessionExpiry(.refreshRefused, message: detail)),
                "Your session has expired. Sign in again."
            ),
            (
                .timedOut(Timeout(.signIn, limit: .seconds(600), phase: .preparing)),
                "The sign-in was not completed in time. Sign in again."
            ),
            (.rejected(Rejection(status: 401)), "The server did not accept your sign-in. Sign in again."),
            (.rejected(Rejection(status: 404)), "The server could not find this."),
            (.serverFailure(Rejection(status: 500)), "The server is not available at the moment. Try again later."),
            (.serverFailure(Rejection(status: 501)), "The server reported an error. Try again later."),
            (
                .transport(TransportFailure(.dns, detail)),
                "The server could not be found. Check your internet connection."
            ),
            (
                .transport(TransportFailure(.unreachable, detail)),
                "The server cannot be reached. Check your internet connection."
            ),
            (
                .transport(TransportFailure(.refused, detail)),
                "The server does not accept connections at the moment. Try again later."
            ),
            (.transport(TransportFailure(.reset, detail)), "The connection to the server was lost. Try again."),
            (.transport(TransportFailure(.untrustedCertificate)), "The identity of the server cannot be verified."),
            (.transport(TransportFailure(.proxy)), "The proxy cannot be used. Check the settings of the proxy."),
        ] as [(ServiceError, String)])
    func frequent(error: ServiceError, sentence: String) {
        #expect(error.localizedDescription(in: "en") == sentence)
    }

    @Test("every sentence is used, has a text of its own in both languages, and can be had by its key")
    func complete() {
        var seen: [String: ErrorSentence] = [:]
        for sentence in Self.errors.flatMap(\.sentences) { seen[sentence.key] = sentence }
        for kind in ArchiveError.Kind.allCases {
            let sentence = ArchiveError(kind, Self.detail).sentence
            seen[sentence.key] = sentence
        }
        #expect(Set(seen.keys) == Set(ErrorSentence.allKeys) && ErrorSentence.allKeys.count == 70)
        for language in ["en", "de"] {
            #expect(Set(seen.values.map { $0.text(in: language) }).count == seen.count)
        }
        for sentence in seen.values { #expect(sentence.text(in: "en") != sentence.text(in: "de")) }
    }

    @Test("an error of an archive shows a sentence too, and none of its details, also as any error")
    func archive() {
        let error = ArchiveError(.damaged, Self.detail)
        #expect(error.sentence.text(in: "en") == "The saved data cannot be used.")
        #expect(error.localizedDescription == (error as any Error).localizedDescription)
        #expect(!error.localizedDescription.contains("/tmp"))
        #expect(error.description == Self.detail)
    }

    @Test(
        "the language is that of a tag, and English for any other",
        arguments: ["de", "de-AT", "de_CH", "DE", "de-Latn-DE"], ["en", "en-GB", "fr", "", "den", "x-de"])
    func languages(german: String, other: String) {
        let error = ServiceError.rateLimited(RateLimited(retryAfter: .milliseconds(6500), status: 429))
        #expect(
            error.localizedDescription(in: german)
                == "Der Server hat zu viele Anfragen erhalten. Bitte in 7 Sekunden erneut versuchen.")
        #expect(
            error.localizedDescription(in: other)
                == "The server has received too many requests. Try again in 7 seconds.")
    }

    @Test(
        "a wait is rounded up, and is never one of a unit",
        arguments: [
            (Duration.zero, "Try again."), (.milliseconds(1), "Try again in 2 seconds."),
            (.milliseconds(2001), "Try again in 3 seconds."), (.seconds(90), "Try again in 90 seconds."),
            (.milliseconds(90_001), "Try again in 2 minutes."), (.seconds(121), "Try again in 3 minutes."),
            (.seconds(5400), "Try again in 90 minutes."), (.seconds(5401), "Try again in 2 hours."),
            (.seconds(129_601), "Try again in 2 days."), (.seconds(3_155_760_000), "Try again later."),
        ])
    func waits(wait: Duration, advice: String) {
        let error = ServiceError.serverFailure(Rejection(status: 503, retryAfter: wait))
        #expect(error.localizedDescription(in: "en") == "The server is not available at the moment. \(advice)")
    }

    @Test("the server's own message comes first, except for what it writes for developers")
    func serverMessages() {
        let message = "The name is taken\u{7}"
        let shown: [ServiceError] = [
            .rejected(Rejection(status: 422, message: message)),
            .rejected(Rejection(status: 401, message: message)),
            .rateLimited(RateLimited(status: 429, message: message)),
        ]
        for error in shown {
            #expect(error.serverMessage == #"The name is taken\u{7}"#)
            #expect(error.localizedDescription == error.serverMessage && error.errorDescription == error.serverMessage)
            #expect((error as any Error).localizedDescription == error.serverMessage)
            #expect(error.localizedDescription(in: "de") == error.serverMessage)
        }
        let ended = ServiceError.sessionExpired(SessionExpiry(.refreshRefused, message: message, status: 400))
        let redirected = ServiceError.rejected(Rejection(status: 307, message: message))
        let failed = ServiceError.serverFailure(Rejection(status: 500, message: message))
        let empty = ServiceError.rejected(Rejection(status: 422, message: ""))
        let ownLimit = ServiceError.rateLimited(RateLimited(retryAfter: .seconds(7), message: message))
        for error in [ended, redirected, failed, empty, ownLimit] {
            #expect(error.serverMessage == nil && !error.localizedDescription.contains("name"))
        }
    }

    @Test(
        "a server's identifier is for developers, and what may be a sentence is for users",
        arguments: [
            ("invalid_grant", false), ("Unauthorized", false), (" E42\n", false), ("ECONNREFUSED:10.0.0.7:5432", false),
            ("the name is taken", true), ("用户不存在。", true), ("Übersetzt", true), ("E42 taken", true),
        ])
    func identifiers(message: String, isShown: Bool) {
        let errors: [ServiceError] = [
            .rejected(Rejection(status: 400, message: message)),
            .rateLimited(RateLimited(status: 429, message: message)),
        ]
        for error in errors {
            #expect(error.serverMessage == (isShown ? message : nil))
            #expect(error.localizedDescription(in: "en").contains(message) == isShown)
            #expect(error.detail == message.printable)
        }
    }

    @Test("a 5xx with an address is shown to developers only")
    func failedServer() async throws {
        let network = scripted()
        network.onAny { .json(#"{"message":"cannot connect to 10.0.0.7:5432"}"#, status: 500) }
        let error = try await #require(throws: ServiceError.self) {
            try await testClient(network, TestClock()) { $0.retry = .never }.run(Endpoint<Int>.get("x"))
        }
        #expect(error.serverMessage == nil)
        #expect(error.localizedDescription(in: "en") == "The server is not available at the moment. Try again later.")
        #expect("\(error)".contains("cannot connect to 10.0.0.7:5432"))
        guard case .serverFailure(let rejection) = error else { throw error }
        #expect(rejection.message == "cannot connect to 10.0.0.7:5432")
    }

    @Test(
        "on Linux the environment names the language",
        arguments: [
            ([:], "en"), (["LANG": "de_DE.UTF-8"], "de_DE"), (["LANG": "C.UTF-8"], "en"), (["LANG": "POSIX"], "en"),
            (["LANG": "de_DE", "LC_MESSAGES": "en_US"], "en_US"), (["LC_ALL": "C", "LANG": "de_DE"], "en"),
            (["LC_ALL": "", "LANG": "de_AT@euro"], "de_AT"),
        ] as [([String: String], String)])
    func environment(variables: [String: String], language: String) {
        #expect(userLanguage(in: variables) == language)
    }
}

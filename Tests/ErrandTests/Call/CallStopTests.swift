@testable import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("What stops a call", .timeLimit(.minutes(10))) struct CallStopTests {
    private let clock = TestClock()
    private let network = scripted()

    private func call(_ method: HTTPMethod = .get, _ path: EndpointPath = "", rules: CallRules = CallRules()) -> Call {
        Call(
            CallSettings(id: 1, method: method, path: path, rules: BoxedRules(rules), time: clock, events: EventHub()))
    }

    @Test("the first stop counts: a deadline before a cancellation, and a cancellation before a deadline")
    func first() {
        let late = call(rules: CallRules(deadline: .seconds(1)))
        late.stopAtDeadline()
        late.stop(.cancelled)
        let timeout = Timeout(.deadline, limit: .seconds(1), phase: .preparing)
        #expect(throws: ServiceError.timedOut(timeout)) { try late.throwIfStopped() }
        let cancelled = call()
        cancelled.stop(.cancelled)
        cancelled.stopAtDeadline()
        #expect(throws: ServiceError.cancelled) { try cancelled.throwIfStopped() }
    }

    @Test("a listener that comes after the stop is called at once; one that comes before, when the call is stopped")
    func listeners() {
        let reported = Noted<[String]>([])
        let stopped = call()
        stopped.stop(.cancelled)
        _ = stopped.scope.listen { reported.update { $0.append("after") } }
        #expect(reported.value == ["after"])
        let running = call()
        _ = running.scope.listen { reported.update { $0.append("before") } }
        #expect(reported.value == ["after"])
        running.stop(.cancelled)
        #expect(reported.value == ["after", "before"])
    }

    private struct Nothing: Middleware {
        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            try await next(request, context)
        }
    }

    @Test(
        "a deadline after an attempt that may have acted says so, with a call middleware and without",
        arguments: [true, false])
    func deadline(withMiddleware: Bool) async throws {
        let isOnline = Noted(true)
        network.on(.post, "/orders") { [isOnline] _ in
            isOnline.value = false
            throw ServiceError.transport(TransportFailure(.reset, "it broke off", mayHaveReachedServer: true))
        }
        let client = testClient(network, clock) {
            $0.connectivity = Connectivity { isOnline.value }
            $0.offline = .wait(upTo: .seconds(60))
            if withMiddleware { $0.callMiddlewares = [Nothing()] }
        }
        let order = Endpoint<String>.post("orders").idempotencyKey("7").deadline(.seconds(5))
        let error = await clock.run { await failure { () async throws(ServiceError) in try await client.run(order) } }
        let timeout = Timeout(.deadline, limit: .seconds(5), phase: .waitingForNetwork, mayHaveReachedServer: true)
        #expect(error == .timedOut(timeout))
        #expect(clock.elapsed == .seconds(5))
    }

    @Test(
        "a session that ends says whether the request may have arrived",
        arguments: [
            (Phase.preparing, false), (.waitingForToken, false), (.waitingForConnection, false),
            (.waitingForResponse, true), (.receiving, true),
        ])
    func session(phase: Phase, mayHaveArrived: Bool) {
        let call = self.call(.post, "orders")
        call.note(phase)
        call.stop(.sessionExpired(SessionExpiry(.signedOut)))
        let expiry = SessionExpiry(.signedOut, mayHaveReachedServer: mayHaveArrived)
        #expect(throws: ServiceError.sessionExpired(expiry)) { try call.throwIfStopped() }
    }

    @Test("a session that ends between two attempts says that the first may have arrived")
    func sessionBetweenAttempts() {
        let call = self.call(.post, "orders")
        call.beginTransmission().noteActed()
        call.note(.backingOff)
        call.stop(.sessionExpired(SessionExpiry(.signedOut)))
        let expiry = SessionExpiry(.signedOut, mayHaveReachedServer: true)
        #expect(throws: ServiceError.sessionExpired(expiry)) { try call.throwIfStopped() }
    }
}

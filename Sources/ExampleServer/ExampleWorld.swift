import Errand
import ErrandSimulation

/// The backends and their state, behind one lock: the server calls from the thread of each connection.
final class ExampleWorld: Sendable {
    private struct Host: Sendable {
        var backend: any Backend
        var window: RequestWindow
    }

    private struct State: Sendable {
        var hosts: [Host]
        var faults = FaultPlan()
    }

    private let time: any TimeSource
    private let state: Lock<State>

    init(_ settings: ExampleServer.Settings) {
        time = settings.time
        let backends: [any Backend] = [
            SocialBackend(), CentralBackend(), MoviesBackend(), PicturesBackend(),
            PinsBackend(lifetime: settings.accessTokenLifetime),
        ]
        state = Lock(State(hosts: backends.map { Host(backend: $0, window: RequestWindow(settings.requestLimit)) }))
    }

    func fail(_ fault: ExampleServer.Fault, count: Int, on path: String) {
        state.withLock { $0.faults.add(fault, count: count, on: path) }
    }

    func stopFailing() {
        state.withLock { $0.faults.removeAll() }
    }

    func endSessions() {
        state.withLock { state in
            for index in state.hosts.indices { state.hosts[index].backend.endSessions() }
        }
    }

    /// Checks the limit first, then applies a fault, and only then asks the backend.
    func reply(to request: LoopbackRequest) -> LoopbackReply {
        let segments = request.segments
        return state.withLock { state in
            guard let index = state.hosts.firstIndex(where: { $0.backend.holds(segments) }) else {
                return .json(#"{"message": "No backend lies here"}"#, status: 404)
            }
            if let wait = state.hosts[index].window.take(at: time.now) {
                return state.hosts[index].backend.answer(for: .tooMany(wait: wait)).reply
            }
            let fault: ExampleServer.Fault?
            if let text = request.headers[ExampleServer.Fault.header] {
                fault = ExampleServer.Fault(header: text)
                guard fault != nil else {
                    let refusal = Refusal(400, "There is no fault called \(text)", code: "unknown_fault")
                    return state.hosts[index].backend.answer(for: refusal).reply
                }
            } else {
                fault = state.faults.next(for: segments)
            }
            if let reply = fault?.replacement(in: state.hosts[index].backend) { return reply }
            let answer = honestAnswer(to: request, segments, by: &state.hosts[index].backend)
            return fault?.spoil(answer) ?? answer.reply
        }
    }

    private func honestAnswer(
        to request: LoopbackRequest, _ segments: [String], by backend: inout any Backend
    ) -> Answer {
        do throws(Refusal) {
            return try backend.answer(ExampleRequest(request, segments: backend.below(segments), time: time))
        } catch {
            return backend.answer(for: error)
        }
    }
}

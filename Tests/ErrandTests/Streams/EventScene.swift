import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

/// A scripted server of events, in virtual time.
protocol EventScene: Sendable {
    var clock: TestClock { get }
    var network: ScriptedTransport { get }
}

/// How a connection ends after its last event.
enum ConnectionEnd { case ends, breaks, isSilent }

extension EventScene {
    /// Returns a connection that brings these pieces, a second apart, and then ends, breaks or falls silent.
    func connection(_ pieces: String..., then end: ConnectionEnd = .ends, status: Int = 200) -> ScriptedReply {
        let headers: HTTPHeaders = ["Content-Type": "text/event-stream"]
        let reply = ScriptedReply.chunks(
            pieces.map { Data($0.utf8) }, every: .seconds(1), status: status, headers: headers)
        return switch end {
        case .ends: reply
        case .breaks: reply.thenFailure()
        case .isSilent: reply.thenSilence
        }
    }

    func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        testClient(network, clock, configure)
    }

    /// Returns the data of all events, and the error that ended them. More than a hundred events are a mistake: virtual
    /// time would go on for ever.
    func data(of events: ServerSentEvents) async -> ([String], ServiceError?) {
        await clock.run {
            var data: [String] = []
            do throws(ServiceError) {
                for try await event in events {
                    data.append(event.data)
                    guard data.count <= 100 else {
                        Issue.record("the events do not end")
                        break
                    }
                }
                return (data, nil)
            } catch {
                return (data, error)
            }
        }
    }

    /// The times between the requests.
    var gaps: [Duration] { zip(network.sent, network.sent.dropFirst()).map { $0.at.duration(to: $1.at) } }
}

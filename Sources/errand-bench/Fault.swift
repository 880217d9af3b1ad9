import ChildProcess
import Errand
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A server's behavior towards a call, and the results that are correct for it.
enum Fault: String, CaseIterable, Sendable {
    case none, slow, chunks, packed, interim, lastOfConnection, surplus, redirect
    case silence, drip
    case closedBeforeHead, resetBeforeHead, closedWithinHead, closedAfterHead, closedWithinBody, resetWithinBody
    case garbage, strangeStatus, noHead, badChunk, twoLengths, hugeHead
    case endless, bomb, circle, status404, status503, notJSON

    var reply: LoopbackReply {
        let model = LoopbackReply.json(#"{"id": 7}"#)
        let json = HTTPHeaders(dictionaryLiteral: ("Content-Type", "application/json"))
        return switch self {
        case .none: model
        case .slow: model.after(.milliseconds(20))
        case .chunks: .chunks([Data(#"{"id""#.utf8), Data(": 7}".utf8)], headers: json, trailer: ["X-Sum": "1"])
        case .packed: .gzip(Data(#"{"id": 7}"#.utf8), headers: json)
        case .interim: model.preceded(by: 102, 103)
        case .lastOfConnection: LoopbackReply.json(#"{"id": 7}"#, headers: ["Connection": "close"]).thenClose
        case .surplus: model.followed(by: Data("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"id\": 8}".utf8))
        case .redirect: .redirect(to: "/none")
        case .silence: .silence
        case .drip: model.dripping(every: .milliseconds(10))
        case .closedBeforeHead: model.cut(.beforeHead)
        case .resetBeforeHead: model.cut(.beforeHead, by: .reset)
        case .closedWithinHead: model.cut(.withinHead)
        case .closedAfterHead: model.cut(.afterHead)
        case .closedWithinBody: model.cut(.withinBody)
        case .resetWithinBody: model.cut(.withinBody, by: .reset)
        case .garbage: .raw("what is this?\r\n\r\n")
        case .strangeStatus: .raw("HTTP/1.1 42 What\r\nContent-Length: 0\r\n\r\n")
        case .noHead: .raw("{\"id\": 7}")
        case .badChunk: .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n123")
        case .twoLengths: .raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\n{\"id\": 7}")
        case .hugeHead: .raw("HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: 400_000))\r\n\r\n")
        case .endless: .endless()
        case .bomb: .bomb(50 << 20, headers: json)
        case .circle: .redirect(to: "/circle")
        case .status404: .status(404)
        case .status503: .status(503)
        case .notJSON: .status(200, headers: ["Content-Type": "text/html"], body: Data("<html>".utf8))
        }
    }

    /// Whether a call may end with this outcome, apart from its deadline and its cancellation.
    func allows(_ outcome: Result<Int, ServiceError>) -> Bool {
        switch (self, outcome) {
        case (.none, .success(7)), (.slow, .success(7)), (.chunks, .success(7)), (.packed, .success(7)),
            (.interim, .success(7)), (.lastOfConnection, .success(7)), (.surplus, .success(7)),
            (.redirect, .success(7)), (.drip, .success(7)):
            true
        case (_, .failure(.transport(let failure))): kinds.contains(failure.kind)
        case (.circle, .failure(.rejected)), (.status404, .failure(.rejected)): true
        case (.status503, .failure(.serverFailure)), (.notJSON, .failure(.decodingFailed)): true
        default: false
        }
    }

    private var kinds: Set<TransportFailure.Kind> {
        switch self {
        case .closedBeforeHead, .resetBeforeHead: [.reset]
        case .closedWithinHead, .closedAfterHead, .closedWithinBody, .resetWithinBody: [.truncated, .reset]
        case .garbage, .strangeStatus, .noHead, .badChunk, .twoLengths, .hugeHead: [.malformed]
        case .endless, .bomb: [.tooLarge]
        default: []
        }
    }

    /// Serves all faults, each at its own path, until the process ends.
    static func serve() async throws {
        let server = try LoopbackServer()
        for fault in allCases { server.on(.get, "/\(fault)", fault.reply.always) }
        Child.tellParent("\(server.port)")
        try await Child.waitForParentsEnd()
        server.close()
    }
}

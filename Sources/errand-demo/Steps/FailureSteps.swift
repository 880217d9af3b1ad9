import Errand
import ExampleServer
import ExampleServices
import Foundation

extension Step {
    static let tryAgain = Step(
        title: "A server that is down for a moment", asked: "GET friends, answered 503 the first two times"
    ) { scene in
        var configuration = scene.social.configuration
        configuration.attemptMiddlewares.insert(FaultOfFirst(2), at: 0)
        let reply = try await APIClient(configuration).reply(to: Endpoint<LossyList<Social.User>>.get("friends"))
        try expect(reply.attempts == 3, "\(reply.attempts) attempts")
        return "\(reply.value.elements.count) friends, with attempt \(reply.attempts)"
    }

    static let meetTheDeadline = Step(
        title: "A deadline for a slow call", asked: "GET friends, which takes 5 s, with a deadline of 500 ms"
    ) { scene in
        let slow = Endpoint<LossyList<Social.User>>
            .get("friends", headers: [ExampleServer.Fault.header: "slow 5000"])
            .deadline(.milliseconds(500))
        let start = ContinuousClock.now
        let error = try await failure { () async throws(ServiceError) in try await scene.social.run(slow) }
        let took = start.duration(to: .now)
        guard case .timedOut(let timeout) = error, timeout.limit == .milliseconds(500) else {
            throw Failure(description: "it ended with: \(error)")
        }
        try expect(took < .seconds(2), "it took \(took)")
        return "“\(error.localizedDescription)”"
    }

    static let noticeNoNetwork = Step(title: "Without a network", asked: "friends.friends(), while there is none") {
        scene in
        var configuration = scene.social.configuration
        // This machine itself can always be reached, so an offline call needs another server.
        configuration.environment = ServerEnvironment(name: "elsewhere", baseURL: "https://social.example.com/api/v1")
        configuration.connectivity = Connectivity { false }
        let friends = Social.FriendsService(APIClient(configuration))
        let error = try await failure { () async throws(ServiceError) in try await friends.friends() }
        try expect(error == .noInternetConnection, "it ended with: \(error)")
        let sent = await scene.wire.all.count
        try expect(sent == 0, "\(sent) requests were sent")
        return "“\(error.localizedDescription)”, and nothing was sent"
    }
}

/// Asks the server for a fault in the first few attempts of a call.
private struct FaultOfFirst: Middleware {
    private let count: Int

    init(_ count: Int) {
        self.count = count
    }

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
        var request = request
        if context.attempts <= count { request.headers[ExampleServer.Fault.header] = "status 503" }
        return try await next(request, context)
    }
}

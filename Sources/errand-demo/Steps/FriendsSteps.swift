import Errand
import ExampleServer
import ExampleServices

extension Step {
    static let loadFriends = Step(title: "Loading friends", asked: "friends.friends()") { scene in
        let friends = try await scene.friends.friends()
        try expect(!friends.elements.isEmpty, "no friends")
        let names = friends.elements.map { $0.name ?? "number \($0.id)" }.joined(separator: ", ")
        return "\(names)"
    }

    static let tapTwice = Step(
        title: "The button, tapped twice",
        asked: "latest.run { GET friends, which takes 300 ms }, and again after 100 ms"
    ) { scene in
        let latest = LatestOnly()
        let slow = Endpoint<LossyList<Social.User>>.get("friends", headers: [ExampleServer.Fault.header: "slow 300"])
        let load: @Sendable () async throws(ServiceError) -> LossyList<Social.User> = {
            () async throws(ServiceError) in try await scene.social.run(slow)
        }
        async let first = failure { () async throws(ServiceError) in try await latest.run(load) }
        // The delay between two taps of a finger.
        try await Task.sleep(for: .milliseconds(100))
        let second = try await latest.run(load)
        let error = try await first
        try expect(error == .cancelled, "the first load ended with: \(error)")
        return "the first load was canceled, the second brought \(second.elements.count) friends"
    }

    static let keepTheLimit = Step(
        title: "Twenty calls, five a second", asked: "friends.friends(), twenty times at once"
    ) {
        scene in
        let total = 20
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<total { group.addTask { _ = try await scene.friends.friends() } }
            try await group.waitForAll()
        }
        let sent = await scene.wire.all.map(\.sent)
        for line in Timeline(moments: sent).lines { scene.terminal.say("    \(line)", .busy) }
        for (index, moment) in sent.enumerated() where index >= 5 {
            let apart = moment - sent[index - 5]
            try expect(apart >= .milliseconds(990), "six requests within \(apart)")
        }
        return "all \(total) answered, and never more than five in a second"
    }
}

import Errand
import ExampleServer
import ExampleServices

extension Step {
    static let oneAlert = Step(
        title: "One place for failures",
        asked: "central.checkToken() without a token, then central.authenticate(email: …, password: …)"
    ) { scene in
        let alerts = scene.central.failures
        let ann = ExampleData.ann
        _ = try await failure { () async throws(ServiceError) in try await scene.central.checkToken() }
        _ = try await failure { () async throws(ServiceError) in
            try await scene.central.authenticate(email: ann.email, password: "a wrong one")
        }
        var texts: [String] = []
        for await error in alerts.prefix(2) { texts.append(error.alertText) }
        try expect(texts.first == "Invalid Token", "the alerts were \(texts)")
        let sent = await scene.wire.all.count
        try expect(sent == 1, "\(sent) requests were sent for one sign-in")
        return "two alerts: \(texts.map { "“\($0)”" }.joined(separator: ", then "))"
    }

    static let changeSettings = Step(
        title: "One place for settings", asked: "central.change { $0.device = .tablet } between two calls"
    ) { scene in
        let (central, ann) = (scene.central, ExampleData.ann)
        let log = central.log
        try await central.authenticate(email: ann.email, password: ann.password)
        await central.change { $0.device = .tablet }
        let account = try await central.checkToken()
        var devices: [String] = []
        for await line in log where line.contains(" sent ") {
            if let device = ["phone", "tablet"].first(where: { line.contains("device_type=\($0)") }) {
                scene.terminal.say("    log  \(line)", .busy)
                devices.append(device)
            }
            if devices.count == 2 { break }
        }
        try expect(devices == ["phone", "tablet"], "the calls were sent for \(devices)")
        return "\(account.email) signed in on a phone, and was asked about on a tablet, in the same session"
    }

    static let outliveTheView = Step(
        title: "Calls that outlive their view", asked: "central.start(GET token, which takes 300 ms), twice"
    ) { scene in
        let central = scene.central
        let slow = Endpoint<Central.Account>.get("token", headers: [ExampleServer.Fault.header: "slow 300"])
            .unwrapping("user")
        let view = Task { central.start(slow) }
        view.cancel()
        let account = try await view.value.value.get()
        let log = central.log
        let second = central.start(slow)
        for await line in log where line.contains(" sent ") { break }
        await central.cancelAll()
        guard case .failure(.cancelled) = await second.value else {
            throw Failure(description: "the second call was not canceled")
        }
        return "the view was gone, and \(account.email) arrived; cancelAll() ended the second call"
    }
}

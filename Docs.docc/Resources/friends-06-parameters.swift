import Errand

extension ServerEnvironment {
    static let social = ServerEnvironment(name: "production", baseURL: "https://social.example.com/api/v1")
}

func socialClient(
    _ server: ServerEnvironment, appToken: String, user: Friend.ID,
    _ configure: (inout Configuration) -> Void = { _ in }
) -> APIClient {
    var configuration = Configuration(server)
    configuration.parameters = ["application_token": appToken, "user_id": user]
    configuration.rateLimit = .requests(5, per: .seconds(1))
    configure(&configuration)
    return APIClient(configuration)
}

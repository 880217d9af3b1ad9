import Errand

extension ServerEnvironment {
    static let social = ServerEnvironment(name: "production", baseURL: "https://social.example.com/api/v1")
}

func socialClient(_ server: ServerEnvironment) -> APIClient {
    APIClient(Configuration(server))
}

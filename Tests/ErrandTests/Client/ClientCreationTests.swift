import Errand
import FoundationEssentials
import Testing

@Suite("Creating a client")
struct ClientCreationTests {
    private let limit = RateLimit.requests(7, per: .seconds(1))

    /// A value that must not leave its actor.
    private final class Settings {
        var timeout = Duration.seconds(7)
    }

    @MainActor private final class Screen {
        private let settings = Settings()
        private(set) lazy var client = APIClient("https://api.test") { $0.timeout = settings.timeout }
    }

    private actor Store {
        private let settings = Settings()

        func client() async -> APIClient {
            let client = APIClient("https://api.test") { $0.timeout = settings.timeout }
            settings.timeout = .zero
            return client
        }
    }

    private struct Service {
        static let shared = Service()
        let client: APIClient

        init(_ configure: (inout Configuration) -> Void = { _ in }) {
            client = APIClient("https://api.test") {
                $0.timeout = .seconds(1)
                configure(&$0)
            }
        }
    }

    @Test("the closure may use what belongs to the main actor") @MainActor
    func onMainActor() {
        #expect(Screen().client.configuration.timeout == .seconds(7))
    }

    @Test("the closure may use what belongs to another actor")
    func inActor() async {
        #expect(await Store().client().configuration.timeout == .seconds(7))
    }

    @Test("the closure may be passed on, and may use what belongs to nobody")
    func inWrapper() {
        let settings = Settings()
        let service = Service { $0.timeout = settings.timeout }
        settings.timeout = .zero
        #expect(service.client.configuration.timeout == .seconds(7))
        #expect(Service.shared.client.configuration.timeout == .seconds(1))
    }

    @Test("the server is text, a URL or an environment, and the closure can change it")
    func servers() throws {
        let url = try #require(URL(string: "https://api.test/v1"))
        let named = ServerEnvironment(name: "test", baseURL: url)
        let text = APIClient("https://api.test/v1") { $0.rateLimit = limit }
        #expect(text.configuration.environment == ServerEnvironment(name: "server", baseURL: "https://api.test/v1"))
        #expect(text.limiter.limit == limit)
        #expect(APIClient(url).configuration.environment == text.configuration.environment)
        #expect(APIClient(named).configuration.environment == named)
        #expect(APIClient(Configuration(named)).configuration.environment == named)
        #expect(APIClient(url) { $0.environment = named }.configuration.environment == named)
    }
}

import Errand
import Testing

/// The samples of the article on equal requests.
@Suite struct SharingSamples {
    /// Not run: it would send.
    private func friends() async throws -> ([User], [User]) {
        let client = APIClient("https://api.example.com") {
            $0.sharesEqualRequests = true
        }
        async let header = client.run(.friends)
        async let list = client.run(.friends)
        let (first, second) = try await (header, list)  // one request
        return (first, second)
    }

    @Test("a request that is not shared")
    func nonce() {
        let nonce: Endpoint<String> = .get("nonce").header("Cache-Control", "no-store")
        #expect(nonce.headers["Cache-Control"] == "no-store")
    }
}

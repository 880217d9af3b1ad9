@testable import Errand
import Testing

@Suite("Endpoints that refuse what others accept")
struct RefusedPlacesTests {
    @Test("T3: an endpoint has five replays that are refused within 30 s, and all together twenty")
    func budgets() {
        var places = RefusedPlaces()
        let later = Instant.zero.advanced(by: .seconds(30))
        for _ in 0..<5 {
            #expect(places.mayReplay(at: "GET /a", .zero))
            places.note("GET /a", at: .zero)
        }
        #expect(!places.mayReplay(at: "GET /a", .zero) && places.mayReplay(at: "GET /b", .zero))
        for number in 0..<15 { places.note("GET /b\(number)", at: .zero) }
        #expect(!places.mayReplay(at: "GET /c", .zero) && places.mayReplay(at: "GET /a", later))
        // Calls that were under way change nothing.
        for _ in 0..<100 { places.note("GET /d", at: .zero) }
        #expect(places.mayReplay(at: "GET /d", later))
    }
}

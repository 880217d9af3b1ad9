@testable import Errand
import Testing

@Suite("Endpoints that refuse what others accept")
struct RefusedPlacesTests {
    @Test("T3: an endpoint has five tokens replaced for nothing within 30 s, and all together have eight")
    func budgets() {
        var places = RefusedPlaces()
        let later = Instant.zero.advanced(by: .seconds(30))
        for number in 0..<5 {
            #expect(places.mayReplay(at: "GET /a", .zero))
            // However many calls were sent with it.
            for _ in 0..<20 { places.note("GET /a", "\(number)", at: .zero) }
        }
        #expect(!places.mayReplay(at: "GET /a", .zero) && places.mayReplay(at: "GET /b", .zero))
        for number in 5..<8 {
            #expect(places.mayReplay(at: "GET /b\(number)", .zero))
            places.note("GET /b\(number)", "\(number)", at: .zero)
        }
        #expect(!places.mayReplay(at: "GET /c", .zero) && places.mayReplay(at: "GET /a", later))
        for number in 0..<1000 { places.note("GET /d\(number)", "x", at: .zero) }
        #expect(places.mayReplay(at: "GET /d1", later))
    }
}
